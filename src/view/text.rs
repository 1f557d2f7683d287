//! Text for people: shortened, wrapped, and without characters that could harm a terminal or page.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Characters that change how other text is shown or are invisible: control characters, direction marks, zero-width
/// characters, and tags, which carry invisible text.
pub(crate) fn is_harmful(letter: char) -> bool {
    let turns = matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_unseen = matches!(
        letter,
        '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
    );
    letter.is_control() || turns || is_unseen
}

/// Joins or separates its neighbours, as some scripts and emoji require.
fn is_joiner(letter: char) -> bool {
    matches!(letter, '\u{200c}' | '\u{200d}')
}

/// The letters of a text, each with whether it is harmful: a joiner is, unless it joins letters.
fn letters(text: &str) -> impl Iterator<Item = (char, bool)> {
    let joins = |letter: Option<char>| letter.is_some_and(|letter| !letter.is_ascii() && !is_harmful(letter) && !is_joiner(letter));
    let (mut before, mut letters) = (None, text.chars().peekable());
    std::iter::from_fn(move || {
        let letter = letters.next()?;
        let is_alone = is_joiner(letter) && !(joins(before) && joins(letters.peek().copied()));
        before = Some(letter);
        Some((letter, is_alone || is_harmful(letter)))
    })
}

/// The text with its lines kept and harmful characters escaped.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    let may_harm = |letter: char| (is_harmful(letter) || is_joiner(letter)) && letter != '\n';
    if !text.contains(may_harm) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for (letter, is_harmful) in letters(text) {
        if is_harmful && letter != '\n' {
            shown.extend(letter.escape_unicode());
        } else {
            shown.push(letter);
        }
    }
    Cow::Owned(shown)
}

/// Long text from others: lines are kept, tabs become blanks, harmful characters are escaped.
pub(crate) fn block(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\t', "    ");
    harmless(&text).into_owned()
}

/// Width of a text on a terminal, in columns.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// Text from others on one line of at most `width` columns, without harmful characters.
pub(crate) fn one_line(text: &str, width: usize) -> String {
    let mut shown = String::new();
    let mut length = 0;
    let mut space = false;
    for (letter, is_harmful) in letters(text) {
        if letter.is_whitespace() {
            space = length > 0;
            continue;
        }
        if is_harmful {
            continue;
        }
        let wide = letter.width().unwrap_or(0);
        if length + usize::from(space) + wide > width {
            // The ellipsis takes a column, too.
            while length >= width {
                let Some(last) = shown.pop() else { break };
                length -= last.width().unwrap_or(0);
            }
            if width > 0 {
                shown.push('…');
            }
            return shown;
        }
        if space {
            shown.push(' ');
            length += 1;
            space = false;
        }
        shown.push(letter);
        length += wide;
    }
    shown
}

/// Wraps a text into lines of at most `width` columns, at blanks where possible.
pub(crate) fn wrapped(text: &str, width: Option<usize>) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.lines() {
        match width {
            Some(width) => wrap(line, width.max(8), &mut lines),
            None => lines.push(line.trim_end().to_owned()),
        }
    }
    lines
}

fn wrap(line: &str, width: usize, lines: &mut Vec<String>) {
    let mut current = String::new();
    let mut length = 0;
    for word in line.trim_end().split_inclusive(' ') {
        let bare = columns(word.trim_end_matches(' '));
        if length > 0 && length + bare > width {
            lines.push(std::mem::take(&mut current).trim_end().to_owned());
            length = 0;
        }
        // Break a word that is wider than a line.
        for letter in word.chars() {
            let wide = letter.width().unwrap_or(0);
            if length + wide > width {
                lines.push(std::mem::take(&mut current).trim_end().to_owned());
                length = 0;
                if letter == ' ' {
                    continue;
                }
            }
            current.push(letter);
            length += wide;
        }
    }
    lines.push(current.trim_end().to_owned());
}

/// `1 span`, `2 spans`.
pub(crate) fn many(number: impl TryInto<u64>, what: &str) -> String {
    match number.try_into().unwrap_or(u64::MAX) {
        1 => format!("1 {what}"),
        number => format!("{number} {what}s"),
    }
}

/// `850 ms`, `3.10 s`, `2 m 05 s`, `1 h 02 m`.
fn duration(millis: u64) -> String {
    match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..60_000 => format!("{}.{:02} s", millis / 1_000, millis % 1_000 / 10),
        60_000..3_600_000 => format!("{} m {:02} s", millis / 60_000, millis / 1_000 % 60),
        _ => format!("{} h {:02} m", millis / 3_600_000, millis / 60_000 % 60),
    }
}

/// The same for nanoseconds, with microseconds if milliseconds are too coarse: `0 s`, `850 µs`, `3.25 ms`.
pub(crate) fn elapsed(nanos: u64) -> String {
    match nanos {
        0 => "0 s".to_owned(),
        1..1_000 => "<1 µs".to_owned(),
        1_000..999_500 => format!("{} µs", (nanos + 500) / 1_000),
        999_500..9_995_000 => {
            let hundredths = (nanos + 5_000) / 10_000;
            format!("{}.{:02} ms", hundredths / 100, hundredths % 100)
        }
        _ => duration(nanos.saturating_add(500_000) / 1_000_000),
    }
}

/// US dollars, with as many digits as small amounts need: `$12.50`, `$0.0315`, `$0.000042`.
pub(crate) fn dollars(amount: f64) -> String {
    let places = match amount.abs() {
        large if large >= 1.0 => 2,
        small if small >= 0.01 => 4,
        _ => 6,
    };
    let mut text = format!("${amount:.places$}");
    // Cents are always shown.
    while text.ends_with('0') && text.rfind('.').is_some_and(|dot| text.len() - dot > 3) {
        text.pop();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_cannot_move_the_cursor() {
        assert_eq!(one_line("a\x1b[2J\n\n b\u{7}c", 20), "a[2J bc");
        assert_eq!(one_line("abcdef", 3), "ab…");
        assert_eq!(one_line("abc", 3), "abc");
        assert_eq!(one_line("  a   b  ", 3), "a b");
        assert_eq!(one_line("a b", 2), "a…");
        assert_eq!(one_line("東京東京", 5), "東京…", "two columns each");
        assert_eq!(one_line("ab", 0), "");
    }

    #[test]
    fn text_that_nobody_sees_is_shown() {
        assert_eq!(harmless("a\u{e0041}\u{200b}b\u{2060}"), "a\\u{e0041}\\u{200b}b\\u{2060}");
        assert_eq!(harmless("a\u{200d}\u{200d}b\u{200c}"), "a\\u{200d}\\u{200d}b\\u{200c}");
        for whole in [
            "\u{1f469}\u{200d}\u{1f680}",
            "\u{645}\u{6cc}\u{200c}\u{62e}",
            "a\nb",
            "\u{2764}\u{fe0f}",
        ] {
            assert_eq!(harmless(whole), whole);
        }
        assert_eq!(one_line("a\u{e0041}b\u{200b}", 9), "ab");
    }

    #[test]
    fn lines_are_wrapped_to_the_width() {
        assert_eq!(wrapped("one two three", Some(8)), ["one two", "three"]);
        assert_eq!(wrapped("  indented words", Some(10)), ["  indented", "words"]);
        assert_eq!(wrapped("abcdefghijkl", Some(8)), ["abcdefgh", "ijkl"]);
        assert_eq!(wrapped("a\n\nb", Some(8)), ["a", "", "b"]);
        assert_eq!(wrapped(&"long ".repeat(50), None).len(), 1);
    }

    #[test]
    fn durations() {
        assert_eq!(
            [0, 999, 3_100, 65_000, 3_720_000].map(duration),
            ["0 ms", "999 ms", "3.10 s", "1 m 05 s", "1 h 02 m"]
        );
        assert_eq!(
            [0, 5, 1_499, 999_499, 999_500, 9_994_999, 9_995_000, 108_000_000, u64::MAX].map(elapsed),
            [
                "0 s",
                "<1 µs",
                "1 µs",
                "999 µs",
                "1.00 ms",
                "9.99 ms",
                "10 ms",
                "108 ms",
                "5124095 h 34 m"
            ]
        );
    }

    #[test]
    fn money() {
        assert_eq!(
            [0.0, 12.5, 0.0315, 0.000_042].map(dollars),
            ["$0.00", "$12.50", "$0.0315", "$0.000042"]
        );
    }
}
