//! The words that a recording keeps: fields, types and texts of WAPI, of web servers' pages, and the small words between
//! them. Nothing in here tells whose grid it is; what is missing here is replaced, which only makes a text poorer.

/// In lower case, sorted.
#[rustfmt::skip]
const KNOWN: &[&str] = &[
    "a", "aaaa", "access", "account", "action", "address", "addresses", "adm", "admcondataerror",
    "admcondatanotfounderror", "admconprotoerror", "alg", "allow", "allowed", "already", "an", "and",
    "another", "api", "application", "approval", "approvals", "approve", "approved", "are", "arg", "args",
    "argument", "as", "at", "attribute", "auth", "authoritative", "authority", "authorization", "authorized",
    "auto", "available", "b", "bad", "bare", "base", "be", "because", "been", "below", "body", "br", "bridge",
    "browser", "busy", "but", "by", "caa", "can", "candidate", "cannot", "center", "certificate", "change",
    "changed", "charset", "client", "cname", "code", "comment", "completed", "comply", "con", "conflict",
    "connection", "content", "could", "create", "created", "credentials", "css", "current", "data", "database",
    "default", "defined", "definition", "delegate", "delegated", "delegation", "delegations", "delete",
    "denied", "device", "disable", "disabled", "disallowed", "div", "dname", "dns", "do", "doctype",
    "document", "does", "doesn", "domain", "don", "dtd", "duplicate", "either", "element", "empty", "en",
    "enabled", "ends", "enum", "error", "exceeded", "execution", "exist", "exists", "expected", "expired",
    "extattrs", "extensible", "extensibleattributedef", "failed", "failure", "false", "field", "fields",
    "file", "flag", "flags", "for", "forbidden", "form", "format", "forward", "found", "fqdn", "from", "fully",
    "function", "gateway", "get", "grid", "group", "gslb", "gslbbridgerevision", "h1", "h2", "h3", "has",
    "have", "head", "host", "hr", "href", "html", "http", "https", "ib", "ibap", "ibdataconflicterror",
    "ibdataerror", "id", "if", "illegal", "img", "in", "input", "integer", "into", "invalid", "ip", "ipv4",
    "ipv6", "is", "iso", "it", "item", "its", "json", "k8gb", "key", "label", "large", "length", "li", "limit",
    "link", "list", "lock", "locked", "long", "longer", "make", "master", "match", "max", "maximum", "may",
    "member", "message", "meta", "method", "minimum", "missing", "mode", "modifier", "more", "ms", "multiple",
    "must", "mx", "name", "names", "naptr", "need", "needed", "needs", "network", "next", "no", "not",
    "notfound", "nothing", "ns", "null", "object", "objects", "of", "on", "one", "only", "operation",
    "operations", "option", "or", "other", "out", "p", "page", "paging", "parent", "parents", "password",
    "path", "pattern", "pending", "permission", "permissions", "plain", "please", "policy", "port", "post", "pre",
    "primary", "proto", "proxy", "ptr", "put", "qualified", "query", "read", "reason", "record", "redirect",
    "ref", "reference", "refresh", "refused", "rejected", "request", "requested", "required", "requires",
    "resource", "restart", "result", "results", "revision", "rights", "rr", "rules", "same", "scheduledtask",
    "schema", "script", "search", "searchable", "searches", "secondary", "see", "select", "server", "service",
    "servicerestart", "set", "shared", "size", "soa", "span", "srv", "standard", "started", "starts", "state",
    "status", "stealth", "string", "stub", "style", "successfully", "supplied", "supported", "syntax", "table",
    "task", "tasks", "td", "temporary", "text", "th", "than", "that", "the", "their", "then", "there", "this",
    "title", "tlsa", "to", "too", "tr", "transaction", "true", "tsig", "ttl", "txt", "type", "ul", "unable",
    "unauthorized", "unavailable", "understand", "unexpected", "unknown", "unsupported", "up", "update",
    "updated", "url", "use", "used", "user", "utf", "valid", "value", "values", "verify", "version", "view",
    "views", "w3c", "waiting", "wapi", "warning", "was", "web", "were", "when", "which", "will", "with",
    "without", "writable", "write", "wrong", "xml", "yes", "you", "your", "zone", "zones",
];
/// Content types whose kind matters; parameters do not.
const MEDIA_TYPES: [&str; 5] =
    ["application/json", "application/xml", "text/html", "text/plain", "application/octet-stream"];

/// Whether a word, in lower case, may stay.
pub(super) fn is_known(word: &str) -> bool {
    KNOWN.binary_search(&word).is_ok()
}

/// Whether a member's name is WAPI's own: all its words are.
pub(super) fn is_key(key: &str) -> bool {
    key.split(|c: char| !c.is_alphanumeric()).all(|word| word.is_empty() || is_known(&word.to_lowercase()))
}

/// The content type without its parameters, if it is one of those that a grid or a proxy gives.
pub(super) fn media_type(header: &str) -> Option<&'static str> {
    let given = header.split(';').next().unwrap_or_default().trim();
    MEDIA_TYPES.into_iter().find(|known| known.eq_ignore_ascii_case(given))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_sorted_lower_case_and_each_there_once() {
        assert!(KNOWN.is_sorted_by(|one, next| one < next));
        assert!(KNOWN.iter().all(|word| word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())));
    }

    #[test]
    fn every_word_that_we_read_or_ask_for_is_kept() {
        let ours =
            [crate::wire::RETURN_FIELDS, crate::swap::REVISION, "next_page_id result needed member service"];
        for word in ours.iter().flat_map(|text| text.split(|c: char| !c.is_alphanumeric())) {
            assert!(is_known(&word.to_lowercase()), "{word}");
        }
    }
}
