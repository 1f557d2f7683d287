//! Words and quoted texts.

/// Whether a letter may be in a word without quotes.
pub(super) fn is_word(letter: char) -> bool {
    !letter.is_whitespace() && !"()=!<>~\"'".contains(letter)
}

/// A text as a value: in quotes, unless it is a word.
pub(super) fn quoted(text: &str) -> String {
    if !text.is_empty() && text.chars().all(is_word) {
        return text.to_owned();
    }
    format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""))
}
