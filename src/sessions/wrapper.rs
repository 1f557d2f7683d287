//! Text that the client adds around a person's: the time, reminders.

/// The text before and after the typed text in the model's input; `None` if the input does not contain it. If the typed text occurs
/// several times, the occurrence on separate lines counts.
pub(super) fn around<'t>(given: &'t str, typed: &str) -> Option<[&'t str; 2]> {
    if typed.is_empty() {
        return None;
    }
    let split = |at: usize| Some([given.get(..at)?, given.get(at..)?.strip_prefix(typed)?]);
    let is_alone = |[before, after]: &[&str; 2]| {
        (before.is_empty() || before.ends_with('\n')) && (after.is_empty() || after.starts_with('\n') || after.starts_with('\r'))
    };
    let places = || given.match_indices(typed).filter_map(|(at, _)| split(at));
    places().find(is_alone).or_else(|| places().last())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_those_on_lines_of_their_own() {
        let given = "<time>2026 go</time>\n\ngo\n\n<reminder>go</reminder>";
        assert_eq!(
            around(given, "go"),
            Some(["<time>2026 go</time>\n\n", "\n\n<reminder>go</reminder>"])
        );
        assert_eq!(around("go", "go"), Some(["", ""]));
        assert_eq!(around("Say: go!", "go"), Some(["Say: ", "!"]));
        assert_eq!((around(given, "stop"), around(given, "")), (None, None));
    }
}
