//! Numbers, times and text as the pages write them.

use maud::{Markup, html};

use crate::operation::Kind;
use crate::span::UnixNanos;
use crate::view::text::block;
/// Text from others with its lines; control and bidirectional characters are escaped.
pub(crate) use crate::view::text::harmless as plain;
/// Text from others on one line, cut to a number of characters.
pub(crate) use crate::view::text::one_line as line;
use crate::view::totals::Cost;

/// Bytes of a value that a page shows; of the rest it gives only the size.
pub(crate) const SHOWN: usize = 64 << 10;

/// A time in UTC with this many digits of a second: `2026-11-23 04:00:10.191`.
pub(crate) fn when(nanos: u64, digits: usize) -> String {
    let text = UnixNanos(nanos).rfc3339().replace('T', " ");
    let mut text = text.get(..19).unwrap_or_default().to_owned();
    if digits > 0 {
        let fraction = format!("{:09}", nanos % 1_000_000_000);
        text.push('.');
        text.push_str(fraction.get(..digits.min(9)).unwrap_or_default());
    }
    text
}

/// A time as an element with all its digits as title; the page's script shows it in local time.
pub(crate) fn time(nanos: u64, digits: usize) -> Markup {
    let exact = when(nanos, 9);
    html! { time datetime={ (exact.replace(' ', "T")) "Z" } data-ns=(nanos) title={ (exact) " UTC" } { (when(nanos, digits)) } }
}

/// A day and a time without the year.
pub(crate) fn day(nanos: u64) -> Markup {
    let exact = when(nanos, 9);
    let short = when(nanos, 0);
    html! {
        time datetime={ (exact.replace(' ', "T")) "Z" } data-ns=(nanos) data-form="day" title={ (exact) " UTC" } { (short.get(5..).unwrap_or_default()) }
    }
}

/// `6 422`, with thin spaces.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + 6);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push('\u{2009}');
        }
        out.push(digit);
    }
    out
}

/// `812`, `1.4 k`, `965 k`, `1.2 M`.
pub(crate) fn short(number: u64) -> String {
    let tenths = |unit: u64| {
        let tenths = (number + unit / 20) / (unit / 10);
        format!("{}.{}", tenths / 10, tenths % 10)
    };
    match number {
        0..1_000 => number.to_string(),
        1_000..99_950 => format!("{} k", tenths(1_000)),
        99_950..999_500 => format!("{} k", (number + 500) / 1_000),
        _ => format!("{} M", tenths(1_000_000)),
    }
}

/// An amount in a column, with decimal points aligned: four digits, and all known ones as title.
pub(crate) fn price(cost: Cost) -> Markup {
    let amount = cost.dollars;
    let shown = match amount {
        tiny if tiny > 0.0 && tiny < 0.0001 => "<$0.0001".to_owned(),
        amount => format!("${amount:.4}"),
    };
    html! { span title={ "$" (amount) @if cost.is_computed { ", computed" } } { @if cost.is_computed { "~" } (shown) } }
}

/// `312 B`, `3.2 KiB`, `1.0 MiB`, `1.5 GiB`.
pub(crate) fn bytes(number: usize) -> String {
    match number {
        0..1_024 => format!("{number} B"),
        1_024..1_048_576 => format!("{}.{} KiB", number / 1_024, number % 1_024 * 10 / 1_024),
        1_048_576..1_073_741_824 => format!("{}.{} MiB", number / 1_048_576, number % 1_048_576 * 10 / 1_048_576),
        _ => format!("{}.{} GiB", number >> 30, (number >> 20) % 1_024 * 10 / 1_024),
    }
}

/// `1 step`, `2 000 steps`.
pub(crate) fn many(number: impl TryInto<u64>, what: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    let ending = match (number, what.ends_with('s')) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{} {what}{ending}", count(number))
}

/// The beginning of a text from others, at most `most` bytes, and its full size if that is not all.
pub(crate) fn beginning(text: &str, most: usize) -> (String, Option<usize>) {
    if text.len() <= most {
        return (block(text), None);
    }
    (block(block_of(text, most)), Some(text.len()))
}

/// The beginning of a text that is already plain, at most `most` bytes.
pub(crate) fn block_of(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or_default()
}

/// The family of a kind: its colour and its shape.
pub(crate) fn family(kind: Kind) -> &'static str {
    match kind {
        Kind::Agent | Kind::AgentCreate | Kind::Handoff => "agent",
        Kind::Llm | Kind::Embedding | Kind::Rerank | Kind::Prompt | Kind::Decision => "model",
        Kind::Tool => "tool",
        Kind::Retrieval | Kind::MemoryRead | Kind::MemoryWrite | Kind::StateChange => "data",
        Kind::Interrupt | Kind::UserInput | Kind::FinalOutput => "person",
        Kind::Guardrail | Kind::Evaluator => "check",
        Kind::Chain | Kind::Plain | Kind::Detail | Kind::Unknown => "other",
    }
}

/// The families, in the order of the legend.
pub(crate) const FAMILIES: [&str; 7] = ["agent", "model", "tool", "data", "person", "check", "other"];

/// A kind as a word with its shape.
pub(crate) fn kind(kind: Kind) -> Markup {
    html! { span class={ "kd k-" (family(kind)) } { (kind.name().replace('_', " ")) } }
}

/// The outcome of a run or step: `ok`, `error`, `cancelled`, `running`, or a word for an unknown one.
pub(crate) fn status(status: &str, hide_ok: bool) -> Markup {
    let (class, word) = match status {
        "ok" => ("ok", "OK"),
        "error" => ("error", "Failed"),
        "cancelled" => ("warn", "Cancelled"),
        "running" => ("running", "Running"),
        "too_large" => ("warn", "Too large"),
        "unread" => ("running", "Reading…"),
        _ => ("warn", "Not known"),
    };
    html! {
        span class={ "st " (class) } {
            svg viewBox="0 0 16 16" aria-hidden="true" {
                @match class {
                    "ok" => path d="M3 8.5l3.2 3.2L13 5" {},
                    "error" => { circle cx="8" cy="8" r="6.2" {} path d="M5.7 5.7l4.6 4.6M10.3 5.7l-4.6 4.6" {} },
                    "running" => circle cx="8" cy="8" r="6" stroke-dasharray="3 2.6" {},
                    _ => { circle cx="8" cy="8" r="6.2" {} path d="M8 4.8v4M8 11.2v.1" {} },
                }
            }
            @if class == "ok" && hide_ok { span.vh { (word) } } @else { (word) }
        }
    }
}

/// Text for an unrecorded value, to distinguish it from 0.
pub(crate) fn none(words: &str) -> Markup {
    html! { span.none { (words) } }
}

/// A model's name without a date at its end.
pub(crate) fn tidy(model: &str) -> &str {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let dated = model.char_indices().rev().filter(|(_, letter)| *letter == '-').find_map(|(at, _)| {
        let tail = model.get(at + 1..)?;
        let is_date = (tail.len() == 8 && is_digits(tail))
            || (tail.len() == 10 && tail.split('-').map(str::len).eq([4, 2, 2]) && tail.split('-').all(is_digits));
        is_date.then_some(at)
    });
    dated
        .and_then(|at| model.get(..at))
        .filter(|name| !name.is_empty())
        .unwrap_or(model)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_people_read_them() {
        assert_eq!(
            [0, 999, 6_422, 1_234_567].map(count),
            ["0", "999", "6\u{2009}422", "1\u{2009}234\u{2009}567"]
        );
        assert_eq!(
            [0, 999, 1_000, 1_449, 99_949, 99_950, 965_000, 999_500, 1_240_000].map(short),
            ["0", "999", "1.0 k", "1.4 k", "99.9 k", "100 k", "965 k", "1.0 M", "1.2 M"]
        );
        assert_eq!(
            [0, 1_023, 1_024, 3_300, 1 << 20, 3 << 29].map(bytes),
            ["0 B", "1023 B", "1.0 KiB", "3.2 KiB", "1.0 MiB", "1.5 GiB"]
        );
        assert_eq!(
            [(0.0, false), (0.000_01, false), (0.000_373, false), (3.1, true)].map(|(dollars, is_computed)| {
                let cost = Cost { dollars, is_computed };
                price(cost).into_string()
            }),
            [
                r#"<span title="$0">$0.0000</span>"#,
                r#"<span title="$0.00001">&lt;$0.0001</span>"#,
                r#"<span title="$0.000373">$0.0004</span>"#,
                r#"<span title="$3.1, computed">~$3.1000</span>"#
            ]
        );
        assert_eq!(
            [many(1, "loss"), many(2, "loss"), many(1_000, "step")],
            ["1 loss", "2 losses", "1\u{2009}000 steps"]
        );
    }

    #[test]
    fn times_have_all_their_digits() {
        assert_eq!(when(1_764_000_010_191_234_567, 9), "2025-11-24 16:00:10.191234567");
        assert_eq!(when(0, 0), "1970-01-01 00:00:00");
        assert_eq!(when(u64::MAX, 3), "2554-07-21 23:34:33.709");
    }

    #[test]
    fn model_names_lose_their_dates() {
        for (name, tidied) in [
            ("gpt-4o-2024-08-06", "gpt-4o"),
            ("claude-sonnet-4-20250514", "claude-sonnet-4"),
            ("gpt-4o-mini", "gpt-4o-mini"),
            ("-20250514", "-20250514"),
            ("2024-08-06", "2024-08-06"),
        ] {
            assert_eq!(tidy(name), tidied);
        }
    }

    #[test]
    fn what_is_cut_tells_of_how_much() {
        assert_eq!(beginning("aé", 2), ("a".to_owned(), Some(3)));
        assert_eq!(beginning("a\u{202e}b", 9), ("a\\u{202e}b".to_owned(), None));
    }
}
