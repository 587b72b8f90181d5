//! Where names lie, in stored form: lower-case, without the final dot.

/// Whether `name` is `zone` or lies below it.
pub(crate) fn is_within(name: &str, zone: &str) -> bool {
    name == zone || is_below(name, zone)
}

/// Whether `name` lies strictly below `zone`.
pub(crate) fn is_below(name: &str, zone: &str) -> bool {
    name.len() > zone.len() && name.ends_with(zone) && name[..name.len() - zone.len()].ends_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_is_decided_by_labels_not_by_letters() {
        assert!(is_below("a.example.com", "example.com"));
        assert!(!is_below("badexample.com", "example.com"));
        assert!(!is_below("example.com", "example.com"));
    }
}
