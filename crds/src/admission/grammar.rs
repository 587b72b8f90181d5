//! What the daemon takes in annotations, as expressions in CEL over the variable `e`.
//!
//! `gslb_core::exposure`, `name` and `annotated` are the authority; `crds/tests/admission` holds both against each
//! other. Regular expressions have no backslash, so that they need no escaping in CEL.

use gslb_core::name::{MAX_LABEL, MAX_NAME};

/// A number from 0 to 255 without leading zeros.
const OCTET: &str = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
/// One group of an IPv6 address, one that is zero, and the one before a mapped IPv4 address.
const GROUP: &str = "[0-9a-fA-F]{1,4}";
const ZERO: &str = "0{1,4}";
const ONES: &str = "[fF]{4}";
/// Groups of IPv6 that stand for the upper half of a multicast address of IPv4.
const MULTICAST: &str = "[eE][0-9a-fA-F]{3}";

fn dotted() -> String {
    format!("{OCTET}([.]{OCTET}){{3}}")
}

/// Is an IPv4 address as people write it.
pub(super) fn ipv4() -> String {
    format!("e.matches('^{}$')", dotted())
}

/// Is an IPv6 address, in any of its forms.
fn ipv6() -> String {
    let dotted = dotted();
    let whole = format!("^({GROUP}:){{7}}{GROUP}$|^({GROUP}:){{6}}{dotted}$");
    let short = format!("^({GROUP}(:{GROUP})*)?::(({GROUP}:)*({GROUP}|{dotted}))?$");
    // `::` stands for one group at least; an IPv4 address is two.
    let groups = "size(e.split(':').filter(g, g != '')) + (e.contains('.') ? 1 : 0)";
    format!("(e.matches('{whole}') || (e.matches('{short}') && {groups} <= 7))")
}

/// What stands before the IPv4 address of an IPv4-mapped address (RFC 4291 §2.5.5.2), however its zeros are written.
fn mapped_prefix() -> String {
    let before = |left: usize| match left {
        0 => String::new(),
        left => format!("({ZERO}:){{{}}}{ZERO}", left - 1),
    };
    let short = (0..=4).map(|left| format!("{}::({ZERO}:){{0,{}}}", before(left), 4 - left));
    let all: Vec<String> = std::iter::once(format!("({ZERO}:){{5}}")).chain(short).collect();
    format!("({}){ONES}:", all.join("|"))
}

/// Is an IPv4 address in the form of IPv6.
fn mapped() -> String {
    let (prefix, dotted) = (mapped_prefix(), dotted());
    // Without `::` before the ones, it may stand behind them.
    let short = format!("({ZERO}:){{5}}{ONES}:(:|{GROUP}::|:{GROUP})");
    format!("e.matches('^({prefix}({dotted}|{GROUP}:{GROUP})|{short})$')")
}

/// Is an IPv4 address that no client can be sent to: unspecified, multicast or broadcast.
fn leads_nowhere() -> String {
    let prefix = mapped_prefix();
    let dotted =
        format!("0[.]0[.]0[.]0|255[.]255[.]255[.]255|(22[4-9]|23[0-9])[.]{OCTET}[.]{OCTET}[.]{OCTET}");
    let hex = format!("{ZERO}:{ZERO}|{ONES}:{ONES}|{MULTICAST}:{GROUP}");
    let short = format!("({ZERO}:){{5}}{ONES}:(:|({ZERO}|{MULTICAST})::|:{ZERO})");
    format!("e.matches('^(({prefix})?({dotted})|{prefix}({hex})|{short})$')")
}

/// Is no address that may stand in the list: an IPv6 address may, although nobody is answered with it.
pub(super) fn no_address() -> String {
    format!("(!{} && !{}) || {}", ipv4(), ipv6(), leads_nowhere())
}

/// Is an address that is answered, if it is one.
pub(super) fn answered() -> String {
    format!("{} || {}", ipv4(), mapped())
}

/// Is a domain name.
pub(super) fn name() -> String {
    let inner = MAX_LABEL - 2;
    let label = format!("[A-Za-z0-9_]([A-Za-z0-9_-]{{0,{inner}}}[A-Za-z0-9_])?");
    format!(
        "e.matches('^([*]|{label})([.]{label})*[.]?$') && size(e) <= (e.endsWith('.') ? {} : {MAX_NAME})",
        MAX_NAME + 1
    )
}

/// Is a geo tag.
pub(super) fn geo_tag() -> String {
    format!("e.matches('^[A-Za-z0-9]([A-Za-z0-9-]{{0,{}}}[A-Za-z0-9])?$')", MAX_LABEL - 2)
}

/// Is a number that is a time to live.
pub(super) fn ttl() -> &'static str {
    "e.matches('^([+]?0*[0-9]{1,10}|-0+)$') && int(e) <= 2147483647"
}

/// An expression over `e`, with the value that stands for it.
pub(super) fn of(value: &str, expression: &str) -> String {
    format!("[{value}].all(e, {expression})")
}
