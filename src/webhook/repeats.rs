//! An error is logged once, until it changes or is over: external-dns asks every minute.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// What was said last of each call.
#[derive(Debug, Default)]
pub(super) struct Repeats(Mutex<BTreeMap<&'static str, String>>);

impl Repeats {
    /// Whether this is news.
    pub(super) fn is_news(&self, call: &'static str, error: &str) -> bool {
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        said.insert(call, error.to_owned()).as_deref() != Some(error)
    }

    /// The call went well; whether that is news.
    pub(super) fn is_over(&self, call: &'static str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(call).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_news_until_it_is_said_again() {
        let repeats = Repeats::default();
        let said = [("records", "a"), ("records", "a"), ("apply", "a"), ("records", "b"), ("records", "a")];
        assert_eq!(said.map(|(call, error)| repeats.is_news(call, error)), [true, false, true, true, true]);
        assert_eq!([repeats.is_over("records"), repeats.is_over("records")], [true, false]);
        assert!(repeats.is_news("records", "a"));
    }
}
