//! Splits keys into words: `acme.toolCall_id` becomes `acme.tool.call.id`.

/// Maximum number of words in the endings that rules name.
const MAX_ENDING_WORDS: usize = 5;

/// The words of a key in lower case, joined by dots. A word ends at any character that is not a letter or digit, and before a capital that
/// starts the next one.
pub(super) fn of(key: &str) -> String {
    let mut out = String::with_capacity(key.len() + 8);
    let mut chars = key.chars().peekable();
    let mut before = '.';
    while let Some(char) = chars.next() {
        if !char.is_alphanumeric() {
            if !out.ends_with('.') && !out.is_empty() {
                out.push('.');
            }
        } else {
            let next_is_small = chars.peek().is_some_and(|next| next.is_lowercase());
            let begins =
                char.is_uppercase() && (before.is_lowercase() || before.is_ascii_digit() || before.is_uppercase() && next_is_small);
            if begins && !out.ends_with('.') && !out.is_empty() {
                out.push('.');
            }
            if char.is_ascii() {
                out.push(char.to_ascii_lowercase());
            } else {
                out.extend(char.to_lowercase());
            }
        }
        before = char;
    }
    if out.ends_with('.') {
        let _ = out.pop();
    }
    out
}

/// The endings of these words, longest first.
pub(super) fn endings(words: &str) -> impl Iterator<Item = &str> {
    let mut starts = [0; MAX_ENDING_WORDS];
    let mut count = 0;
    for (slot, (at, _)) in starts.iter_mut().zip(words.rmatch_indices('.')) {
        *slot = at + 1;
        count += 1;
    }
    // The whole text is the longest ending, if it is short enough.
    let all = MAX_ENDING_WORDS.min(count + 1);
    starts.into_iter().take(all).rev().filter_map(|start| words.get(start..))
}

/// Length of a key before its first index (`acme.prompts.0.role`), excluding the dot.
pub(super) fn before_index(key: &str) -> Option<usize> {
    let mut start = 0;
    for part in key.split('.') {
        if start > 0 && !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(start - 1);
        }
        start += part.len() + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_keys() {
        for key in [
            "acme.span.kind",
            "acme.span_kind",
            "acme.spanKind",
            "acme:SPAN-KIND",
            "acme/span kind_",
        ] {
            assert_eq!(of(key), "acme.span.kind", "{key}");
        }
        assert_eq!(of("LLMModelID"), "llm.model.id");
        assert_eq!(of("toolCall2Id"), "tool.call2.id");
        assert_eq!(of(""), "");
        assert_eq!(endings("a.b.c").collect::<Vec<_>>(), ["a.b.c", "b.c", "c"]);
        assert_eq!(endings("1.2.3.4.5.6.7").next(), Some("3.4.5.6.7"));
    }

    #[test]
    fn indices() {
        let before = |key: &'static str| before_index(key).and_then(|end| key.get(..end));
        assert_eq!(before("acme.prompts.0.calls.1.name"), Some("acme.prompts"));
        assert_eq!(before("acme.prompts.0"), Some("acme.prompts"));
        assert_eq!(before("acme.gpt4.model"), None);
        assert_eq!(before("0.role"), None);
    }
}
