//! The media type of the protocol, as headers write it.

use super::MEDIA_TYPE;

/// Whether a header names the one form that there is: type and version, however they are spaced. Other parameters, such
/// as a quality, say nothing.
pub fn is_ours(media: &str) -> bool {
    parts(media) == parts(MEDIA_TYPE)
}

/// Whether a header names the protocol in a version that is not spoken here, or in none.
pub fn is_another_version(media: &str) -> bool {
    parts(media).0 == parts(MEDIA_TYPE).0 && !is_ours(media)
}

fn parts(media: &str) -> (String, Option<String>) {
    let mut parts = media.split(';').map(|part| part.trim().to_ascii_lowercase());
    let kind = parts.next().unwrap_or_default();
    let version = parts
        .find_map(|part| part.strip_prefix("version=").map(|version| version.trim_matches('"').to_owned()));
    (kind, version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_version_is_spoken_and_another_is_told_from_another_type() {
        let table = [
            (MEDIA_TYPE, true, false),
            ("application/external.dns.webhook+json; Version=\"1\"", true, false),
            ("application/external.dns.webhook+json;version=1;q=0.5", true, false),
            ("application/external.dns.webhook+json;version=2", false, true),
            ("application/external.dns.webhook+json", false, true),
            ("application/json", false, false),
            ("text/html; charset=utf-8", false, false),
            ("", false, false),
        ];
        for (media, ours, another) in table {
            assert_eq!((is_ours(media), is_another_version(media)), (ours, another), "{media}");
        }
    }
}
