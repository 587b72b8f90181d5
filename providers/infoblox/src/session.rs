//! The session cookie: kept exactly as the grid wrote it.

use std::sync::{Mutex, PoisonError};

use reqwest::header::{HeaderMap, HeaderValue, SET_COOKIE};

/// Name of the grid's session cookie (reference.md §1.3).
const COOKIE_NAME: &str = "ibapauth";

/// At most one session. The cookie is a credential: it is marked sensitive and never printed.
#[derive(Default)]
pub(crate) struct Session(Mutex<Option<HeaderValue>>);

impl Session {
    pub(crate) fn cookie(&self) -> Option<HeaderValue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Forgets whatever session there is: the next request goes elsewhere.
    pub(crate) fn forget(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Begins a session, or goes on with the one that the grid renewed.
    pub(crate) fn renew(&self, cookie: HeaderValue) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(cookie);
    }

    /// Forgets a session, unless another request has begun a new one meanwhile.
    pub(crate) fn end(&self, cookie: &HeaderValue) {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if current.as_ref() == Some(cookie) {
            *current = None;
        }
    }
}

/// The session cookie that a reply sets.
pub(crate) fn cookie_of(headers: &HeaderMap) -> Option<HeaderValue> {
    headers.get_all(SET_COOKIE).iter().find_map(session_cookie)
}

/// `name=value` of the session cookie. The value has commas and stands in quotes; a jar that splits or unquotes
/// it breaks it, so everything up to the first `;` outside quotes is kept as it is.
fn session_cookie(header: &HeaderValue) -> Option<HeaderValue> {
    let text = header.as_bytes();
    text.strip_prefix(COOKIE_NAME.as_bytes())?.strip_prefix(b"=")?;
    let mut quoted = false;
    let end = text.iter().position(|byte| {
        quoted ^= *byte == b'"';
        *byte == b';' && !quoted
    });
    let mut cookie = HeaderValue::from_bytes(text[..end.unwrap_or(text.len())].trim_ascii_end()).ok()?;
    cookie.set_sensitive(true);
    Some(cookie)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cookie(text: &'static str) -> Option<HeaderValue> {
        cookie_of(&HeaderMap::from_iter([(SET_COOKIE, HeaderValue::from_static(text))]))
    }

    #[test]
    fn the_cookie_is_kept_verbatim_without_its_attributes() {
        let cookie = cookie(
            r#"ibapauth="ip=198.51.100.7,client=API,group=k8s;dns,auth=LOCAL,user=svc-dns,0a1b"; httponly; secure; path=/"#,
        );
        let cookie = cookie.unwrap();
        assert_eq!(
            cookie,
            r#"ibapauth="ip=198.51.100.7,client=API,group=k8s;dns,auth=LOCAL,user=svc-dns,0a1b""#
        );
        assert_eq!(format!("{cookie:?}"), "Sensitive");
    }

    #[test]
    fn a_session_that_was_renewed_meanwhile_is_not_ended() {
        let session = Session::default();
        session.renew(cookie("ibapauth=a; path=/").unwrap());
        let old = session.cookie().unwrap();
        session.renew(cookie("ibapauth=b; path=/").unwrap());
        session.end(&old);
        assert_eq!(session.cookie().unwrap(), "ibapauth=b");
        assert_eq!(cookie("other=c"), None);
    }
}
