//! Log-ins: Basic credentials, session cookies, and the block after bad ones.

use super::account::{Account, Lockout};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::Instant;

/// Why a request is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rejection {
    /// 401: bad credentials, or an expired session and nothing else.
    Unauthorized,
    /// 403: no API access, or the client is blocked.
    Forbidden,
}

/// A request that is let in.
#[derive(Debug)]
pub(crate) struct Admission {
    pub(crate) account: Account,
    /// The value of `Set-Cookie`, when this log-in opened a session.
    pub(crate) new_cookie: Option<String>,
}

/// What a request shows to be let in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Credentials<'a> {
    pub(crate) authorization: Option<&'a str>,
    pub(crate) cookies: Option<&'a str>,
    pub(crate) client: IpAddr,
}

#[derive(Debug)]
struct Session {
    user: String,
    last_used: Instant,
}

#[derive(Debug, Default)]
struct Client {
    bad_logins: VecDeque<Instant>,
    blocked_until: Option<Instant>,
}

/// Accounts, sessions and blocks.
#[derive(Debug)]
pub(crate) struct Access {
    pub(crate) accounts: Vec<Account>,
    pub(crate) lockout: Option<Lockout>,
    pub(crate) session_timeout: Duration,
    sessions: BTreeMap<String, Session>,
    clients: BTreeMap<IpAddr, Client>,
    bad_logins: u64,
}

impl Access {
    pub(crate) fn new(accounts: Vec<Account>, lockout: Option<Lockout>, session_timeout: Duration) -> Self {
        let (sessions, clients) = (BTreeMap::new(), BTreeMap::new());
        Self { accounts, lockout, session_timeout, sessions, clients, bad_logins: 0 }
    }

    /// Bad log-ins since the start.
    pub(crate) fn bad_logins(&self) -> u64 {
        self.bad_logins
    }

    /// Lets a request in, or says why not. A valid cookie wins, even over another user's Basic header.
    pub(crate) fn admit(&mut self, shown: Credentials<'_>, now: Instant) -> Result<Admission, Rejection> {
        let blocked = self.clients.get(&shown.client).and_then(|client| client.blocked_until);
        if blocked.is_some_and(|until| now < until) {
            return Err(Rejection::Forbidden);
        }
        if let Some(account) = shown.cookies.and_then(|cookies| self.session(cookies, now)) {
            return allowed(Admission { account, new_cookie: None });
        }
        let account = shown.authorization.and_then(|header| self.basic(header));
        match account {
            Some(account) => {
                let new_cookie = Some(self.open_session(&account, shown.client, now));
                allowed(Admission { account, new_cookie })
            }
            None => {
                // Without credentials there was no log-in that could be bad.
                if shown.authorization.is_some() {
                    self.bad_login(shown.client, now);
                }
                Err(Rejection::Unauthorized)
            }
        }
    }

    /// Counts a bad log-in, and blocks the client when there were too many.
    pub(crate) fn bad_login(&mut self, from: IpAddr, now: Instant) {
        self.bad_logins += 1;
        let Some(lockout) = self.lockout else { return };
        let client = self.clients.entry(from).or_default();
        client.bad_logins.push_back(now);
        client.bad_logins.retain(|at| now.duration_since(*at) <= lockout.within);
        if client.bad_logins.len() >= lockout.bad_logins {
            client.blocked_until = Some(now + lockout.lasts);
        }
    }

    /// Lifts all blocks.
    pub(crate) fn unblock(&mut self) {
        self.clients.clear();
    }

    /// Ends the session of the cookie.
    pub(crate) fn log_out(&mut self, cookies: Option<&str>) {
        if let Some(token) = cookies.and_then(token) {
            self.sessions.remove(token);
        }
    }

    /// Ends all sessions.
    pub(crate) fn expire_sessions(&mut self) {
        self.sessions.clear();
    }

    pub(crate) fn open_sessions(&self) -> usize {
        self.sessions.len()
    }

    fn session(&mut self, cookies: &str, now: Instant) -> Option<Account> {
        let token = token(cookies)?;
        let session = self.sessions.get_mut(token)?;
        if now.duration_since(session.last_used) >= self.session_timeout {
            self.sessions.remove(token);
            return None;
        }
        session.last_used = now;
        let user = session.user.clone();
        self.accounts.iter().find(|account| account.name == user).cloned()
    }

    fn basic(&self, header: &str) -> Option<Account> {
        let bytes = STANDARD.decode(header.strip_prefix("Basic ")?.trim()).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        let (user, password) = text.split_once(':')?;
        let account = self.accounts.iter().find(|account| account.name == user)?;
        (account.password == password).then(|| account.clone())
    }

    fn open_session(&mut self, account: &Account, client: IpAddr, now: Instant) -> String {
        let token = hex::encode(rand::random::<[u8; 20]>());
        let user = account.name.clone();
        self.sessions.insert(token.clone(), Session { user, last_used: now });
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        format!(
            "ibapauth=\"ip={client},client=API,group={},ctime={time},timeout={},mtime={time},su={},\
             auth=LOCAL,user={},{token}\"; httponly; Path=/; secure",
            account.group(),
            self.session_timeout.as_secs(),
            u8::from(account.superuser),
            account.name
        )
    }
}

fn allowed(admission: Admission) -> Result<Admission, Rejection> {
    if admission.account.api_access { Ok(admission) } else { Err(Rejection::Forbidden) }
}

/// The signature at the end of the `ibapauth` cookie, which is what we recognise a session by.
fn token(cookies: &str) -> Option<&str> {
    let value = cookies.split(';').find_map(|cookie| cookie.trim().strip_prefix("ibapauth="))?;
    value.trim_matches('"').rsplit(',').next()
}
