//! What `Retry-After` asks for (RFC 9110 §10.2.3): seconds, or a date.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822;

/// A backend that asks for longer is asked again all the same: a wrong clock or a proxy's page for a maintenance window must
/// not stop us for a day. No outside reference.
pub const LONGEST_HINT: Duration = Duration::from_secs(300);

/// The pause that is asked for, bounded. A date is measured against the backend's own clock (`Date`) where it tells it, so
/// that two clocks that differ make no difference.
pub fn pause(text: &str, date: Option<&str>, now: Timestamp) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds).min(LONGEST_HINT));
    }
    let at = timestamp(text)?;
    let from = date.and_then(timestamp).unwrap_or(now);
    Some(Duration::try_from(at.duration_since(from)).unwrap_or_default().min(LONGEST_HINT))
}

fn timestamp(text: &str) -> Option<Timestamp> {
    rfc2822::parse(text.trim()).ok().map(|at| at.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_understood_and_bounded() {
        let now: Timestamp = "2024-11-15T06:19:42Z".parse().unwrap();
        let seconds = |count| Some(Duration::from_secs(count));
        let cases = [
            ("7", None, seconds(7)),
            (" 0 ", None, seconds(0)),
            ("86400", None, seconds(300)),
            ("99999999999999999999", None, None),
            ("Fri, 15 Nov 2024 06:20:12 GMT", None, seconds(30)),
            ("Fri, 15 Nov 2024 06:20:12 GMT", Some("Fri, 15 Nov 2024 06:20:02 GMT"), seconds(10)),
            ("Fri, 15 Nov 2024 06:00:00 GMT", None, seconds(0)),
            ("Sat, 16 Nov 2024 06:19:42 GMT", None, seconds(300)),
            ("soon", None, None),
            ("-5", None, None),
        ];
        for (text, date, expected) in cases {
            assert_eq!(pause(text, date, now), expected, "{text}");
        }
    }
}
