//! Parts of URLs, which are also file names.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Characters that are written as `%XX`.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');

/// Encodes everything but letters, digits, `-`, `_` and `.` as `%XX`, so that any text is a single path segment and file
/// name. The result begins with a letter, a digit or `%`, so it is neither a hidden file nor looks like a flag.
#[must_use]
pub fn percent_encoded(text: &str) -> String {
    let first = text.chars().next().filter(|first| "-_.".contains(*first));
    let (first, rest) = text.split_at(first.map_or(0, char::len_utf8));
    utf8_percent_encode(first, NON_ALPHANUMERIC)
        .chain(utf8_percent_encode(rest, ENCODED))
        .collect()
}

/// Decodes `%XX`; `None` if the result is not UTF-8.
#[must_use]
pub fn percent_decoded(text: &str) -> Option<String> {
    percent_decode_str(text).decode_utf8().ok().map(Into::into)
}

/// Adds a parameter to an address, unless it is empty.
pub(crate) fn add_parameter(address: &mut String, name: &str, value: &str) {
    if !value.is_empty() {
        let sign = if address.contains('?') { '&' } else { '?' };
        address.push_str(&format!("{sign}{name}={}", percent_encoded(value)));
    }
}

/// The names and values in a query.
pub(crate) fn query_pairs(query: &str) -> Vec<(String, String)> {
    form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_is_one_part_of_a_path_and_one_file_name() {
        for (text, encoded) in [
            ("chat-17_a.b", "chat-17_a.b"),
            ("..", "%2E."),
            ("-x", "%2Dx"),
            ("a/b c%é", "a%2Fb%20c%25%C3%A9"),
            ("", ""),
        ] {
            assert_eq!(percent_encoded(text), encoded);
            assert_eq!(percent_decoded(encoded).as_deref(), Some(text));
        }
        assert_eq!(percent_decoded("%zz%4"), Some("%zz%4".to_owned()));
        assert_eq!(percent_decoded("%ff"), None);
        assert_eq!(
            query_pairs("a=b+c&&d&e=%2F%3d"),
            [("a", "b c"), ("d", ""), ("e", "/=")].map(|(a, b)| (a.into(), b.into()))
        );
    }
}
