//! The simulated grid as tests and the sandbox hold it.

use super::access::Access;
use super::account::{Account, Lockout, Rules};
use super::admin::{Admin, Delegation};
use super::admins;
use super::error::WapiError;
use super::fault::Faults;
use super::journal::Journal;
use super::listen::{self, HttpServer};
use super::served::ServedView;
use super::state::{RestartMode, State};
use super::store::Store;
use super::tls::SimulatorTls;
use super::turns::Turns;
use crate::dns::{self, DnsServer, DnsSockets};
use serde_json::json;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fmt, io};
use tokio::time::Instant;

/// What the servers of one grid share.
pub(crate) struct Shared {
    state: Mutex<State>,
    pub(crate) faults: Faults,
    pub(crate) journal: Journal,
    pub(crate) turns: Turns,
    /// The host name of the grid master.
    pub(crate) member: String,
}

impl Shared {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Shared {
    /// Sessions and accounts are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("member", &self.member).finish_non_exhaustive()
    }
}

/// A simulated Infoblox grid: a WAPI over HTTPS, and the DNS zones that it holds. Clones are handles to one grid.
#[derive(Clone, Debug)]
pub struct Grid {
    shared: Arc<Shared>,
}

impl Grid {
    /// A grid with one superuser, the view `default` and no zones.
    pub fn builder() -> GridBuilder {
        GridBuilder::default()
    }

    /// Serves the WAPI over HTTPS until the server is dropped. Needs a Tokio runtime.
    ///
    /// # Errors
    /// When the listener cannot be used.
    pub fn serve_https(&self, listener: TcpListener, tls: &SimulatorTls) -> io::Result<HttpServer> {
        listen::serve(Arc::clone(&self.shared), listener, Some(tls))
    }

    /// Answers DNS for the zones of the view `default` until the server is dropped.
    pub fn serve_dns(&self, sockets: DnsSockets) -> DnsServer {
        self.serve_dns_view("default", sockets)
    }

    /// Answers DNS for the zones of a view until the server is dropped. Needs a Tokio runtime.
    pub fn serve_dns_view(&self, view: &str, sockets: DnsSockets) -> DnsServer {
        dns::serve(Arc::new(ServedView::new(Arc::clone(&self.shared), view)), sockets)
    }

    /// The faults in force.
    pub fn faults(&self) -> &Faults {
        &self.shared.faults
    }

    /// Whose requests wait for each other.
    pub fn turns(&self) -> &Turns {
        &self.shared.turns
    }

    /// The requests so far.
    pub fn journal(&self) -> &Journal {
        &self.shared.journal
    }

    /// Changes the grid as an administrator at its own pages would: by the same rules, without a request.
    pub fn edit<T>(&self, work: impl FnOnce(&mut Admin<'_>) -> T) -> T {
        let mut state = self.settled();
        let result = work(&mut Admin::new(&mut state));
        state.settle(Instant::now());
        result
    }

    /// All delegations, by view and name.
    pub fn delegations(&self) -> Vec<Delegation> {
        Delegation::all(&self.settled().store)
    }

    /// One delegation, if it exists.
    pub fn delegation(&self, fqdn: &str, view: &str) -> Option<Delegation> {
        self.delegations().into_iter().find(|zone| zone.fqdn == fqdn && zone.view == view)
    }

    /// Restarts the DNS service: waiting changes go live.
    pub fn restart_services(&self) {
        self.settled().publish();
    }

    /// Whether changes wait for a restart.
    pub fn needs_restart(&self) -> bool {
        self.settled().needs_restart()
    }

    /// Changes when waiting changes go live.
    pub fn set_restart_mode(&self, mode: RestartMode) {
        let mut state = self.settled();
        state.restart = mode;
        state.settle(Instant::now());
    }

    /// Changes an account's password. Open sessions go on, as on a real grid.
    pub fn set_password(&self, user: &str, password: &str) {
        self.with_account(user, |account| password.clone_into(&mut account.password));
    }

    /// Makes an account's writes wait for approval, or stops doing so.
    pub fn set_needs_approval(&self, user: &str, needs_approval: bool) {
        self.with_account(user, |account| account.needs_approval = needs_approval);
    }

    /// Hides tasks from an account, or shows them again.
    pub fn set_sees_tasks(&self, user: &str, sees_tasks: bool) {
        self.with_account(user, |account| account.sees_tasks = sees_tasks);
    }

    /// Changes the rules for what is unknown about real grids.
    pub fn set_rules(&self, rules: Rules) {
        self.settled().rules = rules;
    }

    /// Ends all sessions: the next request with a cookie alone is 401.
    pub fn expire_sessions(&self) {
        self.settled().access.expire_sessions();
    }

    /// Sessions that nobody logged out of and that have not been found expired.
    pub fn open_sessions(&self) -> usize {
        self.settled().access.open_sessions()
    }

    /// Bad log-ins so far.
    pub fn bad_logins(&self) -> u64 {
        self.settled().access.bad_logins()
    }

    /// Switches the block after bad log-ins, and lifts all blocks.
    pub fn set_lockout(&self, lockout: Option<Lockout>) {
        let mut state = self.settled();
        state.access.lockout = lockout;
        state.access.unblock();
    }

    fn with_account(&self, user: &str, change: impl FnOnce(&mut Account)) {
        let mut state = self.settled();
        if let Some(account) = state.access.accounts.iter_mut().find(|account| account.name == user) {
            change(account);
        }
    }

    fn settled(&self) -> MutexGuard<'_, State> {
        let mut state = self.shared.state();
        state.settle(Instant::now());
        state
    }
}

/// What a new grid holds.
#[derive(Clone)]
pub struct GridBuilder {
    username: String,
    password: String,
    accounts: Vec<Account>,
    views: Vec<String>,
    zones: Vec<(String, String)>,
    attributes: Vec<String>,
    restart: RestartMode,
    version: String,
    lockout: Option<Lockout>,
    session_timeout: Duration,
    rules: Rules,
    seed: u64,
    member: String,
}

impl fmt::Debug for GridBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GridBuilder")
            .field("username", &self.username)
            .field("zones", &self.zones)
            .finish_non_exhaustive()
    }
}

impl Default for GridBuilder {
    fn default() -> Self {
        Self {
            username: "admin".to_owned(),
            password: "infoblox".to_owned(),
            accounts: Vec::new(),
            views: Vec::new(),
            zones: Vec::new(),
            attributes: Vec::new(),
            restart: RestartMode::default(),
            version: "2.12.3".to_owned(),
            lockout: Some(Lockout::default()),
            // The grid's own default.
            session_timeout: Duration::from_secs(600),
            rules: Rules::default(),
            seed: 0,
            member: "gm.example.com".to_owned(),
        }
    }
}

impl GridBuilder {
    /// The name of the superuser; `admin` by default.
    #[must_use]
    pub fn username(mut self, name: &str) -> Self {
        name.clone_into(&mut self.username);
        self
    }

    /// The superuser's password.
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        password.clone_into(&mut self.password);
        self
    }

    /// One more account.
    #[must_use]
    pub fn account(mut self, account: Account) -> Self {
        self.accounts.push(account);
        self
    }

    /// One more DNS view; `default` always exists.
    #[must_use]
    pub fn view(mut self, name: &str) -> Self {
        self.views.push(name.to_owned());
        self
    }

    /// An authoritative zone that the grid master serves.
    #[must_use]
    pub fn zone_auth(mut self, fqdn: &str, view: &str) -> Self {
        self.zones.push((fqdn.to_owned(), view.to_owned()));
        self
    }

    /// The definition of an extensible attribute of type `STRING`.
    #[must_use]
    pub fn attribute(mut self, name: &str) -> Self {
        self.attributes.push(name.to_owned());
        self
    }

    /// When changes to zones go live.
    #[must_use]
    pub fn restart(mut self, mode: RestartMode) -> Self {
        self.restart = mode;
        self
    }

    /// The newest WAPI version that the grid answers; 2.12.3 by default.
    #[must_use]
    pub fn version(mut self, version: &str) -> Self {
        version.clone_into(&mut self.version);
        self
    }

    /// When clients are blocked for bad log-ins; `None` for never.
    #[must_use]
    pub fn lockout(mut self, lockout: Option<Lockout>) -> Self {
        self.lockout = lockout;
        self
    }

    /// How long an unused session lives; 600 s by default.
    #[must_use]
    pub fn session_timeout(mut self, timeout: Duration) -> Self {
        self.session_timeout = timeout;
        self
    }

    /// What to do where real grids are unknown.
    #[must_use]
    pub fn rules(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }

    /// The seed of faults that hit by chance.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The host name of the grid master, which is also the primary name server of its zones.
    #[must_use]
    pub fn member(mut self, host_name: &str) -> Self {
        host_name.clone_into(&mut self.member);
        self
    }

    /// Makes the grid; all its zones are live at once.
    ///
    /// # Errors
    /// When a zone or view breaks the grid's own rules, for example twice the same name.
    pub fn build(self) -> Result<Grid, WapiError> {
        let mut store = Store::new("Infoblox", &self.member);
        let mut accounts = vec![Account::new(&self.username, &self.password).superuser()];
        accounts.extend(self.accounts);
        admins::seed(&mut store, &accounts);
        let access = Access::new(accounts, self.lockout, self.session_timeout);
        let mut state = State::new(store, access, self.version, self.restart, self.rules);
        let mut admin = Admin::new(&mut state);
        for view in self.views.iter().filter(|view| *view != "default") {
            admin.create("view", json!({ "name": view }))?;
        }
        for attribute in &self.attributes {
            admin.create("extensibleattributedef", json!({ "name": attribute, "type": "STRING" }))?;
        }
        for (fqdn, view) in &self.zones {
            let primary = json!([{ "name": self.member, "stealth": false }]);
            admin.create("zone_auth", json!({ "fqdn": fqdn, "view": view, "grid_primary": primary }))?;
        }
        state.publish();
        let faults = Faults::seeded(self.seed);
        let (journal, turns) = (Journal::new(), Turns::default());
        let shared = Shared { state: Mutex::new(state), faults, journal, turns, member: self.member };
        Ok(Grid { shared: Arc::new(shared) })
    }
}
