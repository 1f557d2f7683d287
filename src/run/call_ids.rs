//! What the form of a tool call's id reveals.

/// Whether an id is a number that begins anew in every answer: `call_1`, `search:0`.
pub(super) fn is_counter(id: &str) -> bool {
    let end = id.rsplit(['_', ':', '-', '.', '/', '|']).next().unwrap_or(id);
    let digits = end.trim_start_matches(|char: char| char.is_ascii_alphabetic());
    digits.len() <= 5 && digits.bytes().all(|byte| byte.is_ascii_digit()) && end.len() - digits.len() <= 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_ids() {
        let counted = ["call_0", "call_12", "search:0", "functions.search:3", "0", "c1", "tool-7"].map(is_counter);
        assert_eq!(counted, [true; 7]);
        let unique = [
            "call_6c80309895694fd8a9863c4d",
            "toolu_e2512e1f58a84352a8f14b3d",
            "chatcmpl-tool-5ad6f3a1b2",
            "5198f36626044c4b",
            "9TaBcd3Xy",
        ]
        .map(is_counter);
        assert_eq!(unique, [false; 5]);
    }
}
