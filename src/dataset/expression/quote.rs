//! Words and quoted texts.

/// Whether a character may occur in an unquoted word.
pub(super) fn is_word(letter: char) -> bool {
    !letter.is_whitespace() && !"()=!<>~\"'".contains(letter)
}

/// A text as a value, quoted unless it is a word.
pub(crate) fn quoted(text: &str) -> String {
    let begins_like_an_operator = text.starts_with("&&") || text.starts_with("||");
    if !text.is_empty() && !begins_like_an_operator && text.chars().all(is_word) {
        return text.to_owned();
    }
    format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""))
}
