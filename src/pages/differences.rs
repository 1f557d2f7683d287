//! Two runs side by side.

use maud::{Markup, html};

use super::head::short_id;
use super::words::{SHOWN, beginning, count, kind, line, many, none, plain, status, tidy};
use crate::operation::Kind;
use crate::view::compare::{Change, Comparison, Difference, Numbers, Pair, Piece, PromptChange, Side, StepSide, Took, Whole};
use crate::view::text::{dollars, elapsed};
use crate::view::totals::Cost;
use crate::web::url::percent_encoded;

/// Maximum steps on the page; the JSON has all.
const STEPS: usize = 2_000;
/// Maximum prompt changes on the page.
const PROMPTS: usize = 50;
/// Characters shown on each side of a difference in a long text.
const AROUND: usize = 400;

/// Two runs.
pub(crate) fn runs(compared: &Comparison) -> Markup {
    let (left, right) = (&compared.left, &compared.right);
    let of = |change| compared.steps.iter().filter(|pair| pair.change == change).count();
    let steps = compared.steps.len();
    html! {
        div.runhead {
            div.line {
                h1 { "Compare" }
                span { "A " (named(left)) }
                a.btn.small href={ "/compare?a=" (right.trace_id) "&b=" (left.trace_id) } { "Swap" }
                span { "B " (named(right)) }
                div.acts {
                    a.btn.small href={ "/compare?a=" (left.trace_id) } { "Another B" }
                    a.btn.small href={ "/api/v1/compare?a=" (left.trace_id) "&b=" (right.trace_id) } download="compare.json" { "JSON" }
                }
            }
            p.dim {
                "Steps are aligned by kind and name: " (count(of(Change::Same) as u64)) " the same, "
                (count(of(Change::Changed) as u64)) " with other words, " (count(of(Change::OnlyLeft) as u64)) " only in A, "
                (count(of(Change::OnlyRight) as u64)) " only in B."
            }
        }
        div.cards {
            section.card {
                h2 { "Totals" }
                (totals((&left.numbers, Some(left)), (&right.numbers, Some(right))))
            }
            section.card {
                h2 { "Words" }
                div.in {
                    h3 { "Asked" } p.txt { (value_or_diff(compared.question.as_deref(), left.question.as_deref(), "no question was recorded")) }
                    h3 { "Answered" } p.txt { (value_or_diff(compared.answer.as_deref(), left.answer.as_deref(), "no answer was recorded")) }
                }
            }
            (prompts(&compared.prompts, "call"))
        }
        table.cmp.plain {
            caption.vh { "Steps of A and B" }
            colgroup { col; col; @for column in ["c7", "c7", "c7", "c5", "c5", "c8", "c11"] { col class=(column); } }
            thead {
                tr {
                    th { "A" } th { "B" }
                    th.num { "A in" } th.num { "B in" } th.num { "B − A" }
                    th.num { "A took" } th.num { "B took" } th.num { "B − A" }
                    th { "What differs" }
                }
            }
            tbody { @for pair in compared.steps.iter().take(STEPS) { (row(compared, pair)) } }
        }
        @if steps > STEPS { p.none-yet { (many(steps - STEPS, "more step")) ": the JSON has all of them." } }
    }
}

/// Changes in the input of model calls, each once. `what`: who has them.
pub(super) fn prompts(changes: &[PromptChange], what: &str) -> Markup {
    html! {
        @if !changes.is_empty() {
            section.card {
                h2 { "Prompts" }
                div.in {
                    @for change in changes.iter().take(PROMPTS) {
                        h3 { (change.of) " " span.dim { "in " (many(change.calls, what)) } } p.txt { (diff(&change.words)) }
                    }
                    @if changes.len() > PROMPTS { p.none-yet { (many(changes.len() - PROMPTS, "more change")) ": the JSON has all of them." } }
                }
            }
        }
    }
}

fn named(whole: &Whole) -> Markup {
    html! {
        a href={ "/runs/" (whole.trace_id) } { b { (line(whole.agent.as_deref().unwrap_or("not named"), 60)) } }
        " " span.mono.faint { (short_id(&whole.trace_id)) }
    }
}

/// The common value, or the difference.
fn value_or_diff(words: Option<&[Piece]>, same: Option<&str>, nothing: &str) -> Markup {
    match (words, same) {
        (Some(words), _) => diff(words),
        (None, Some(same)) => html! { (line(same, 600)) },
        (None, None) => none(nothing),
    }
}

/// The differences of two texts: parts that only one has are struck out or underlined.
pub(crate) fn diff(pieces: &[Piece]) -> Markup {
    let last = pieces.len().saturating_sub(1);
    html! {
        @for (at, piece) in pieces.iter().enumerate() {
            @match piece.side {
                Side::Both => (around(&piece.text, at == 0, at == last)),
                Side::Left => del { (whole(&piece.text)) },
                Side::Right => ins { (whole(&piece.text)) },
            }
        }
    }
}

fn whole(text: &str) -> Markup {
    let (text, bytes) = beginning(text, SHOWN);
    html! { (text) @if let Some(bytes) = bytes { "… (the first 64 KiB of " (super::words::bytes(bytes)) ")" } }
}

/// Common prefix and suffix.
fn around(text: &str, is_first: bool, is_last: bool) -> Markup {
    let letters = text.chars().count();
    let (front, back) = (if is_first { 0 } else { AROUND }, if is_last { 0 } else { AROUND });
    let skipped = letters.saturating_sub(front + back);
    if skipped <= AROUND {
        return html! { (plain(text)) };
    }
    let at = |letter: usize| text.char_indices().nth(letter).map_or(text.len(), |(at, _)| at);
    let begin = text.get(..at(front)).unwrap_or_default();
    let end = text.get(at(letters - back)..).unwrap_or_default();
    html! { (plain(begin)) span.faint { " … " (many(skipped, "character")) " that are the same … " } (plain(end)) }
}

/// The figures of both, and their difference.
pub(super) fn totals(left: (&Numbers, Option<&Whole>), right: (&Numbers, Option<&Whole>)) -> Markup {
    let (one, other) = (left.0, right.0);
    let counts = |of: fn(&Numbers) -> Option<u64>| figure(of(one), of(other), count);
    let amount = |of: fn(&Numbers) -> Option<f64>, write: fn(f64) -> String| {
        let (one, other) = (of(one), of(other));
        let by = one
            .zip(other)
            .map(|(one, other)| difference(other - one, other == one, |by| write(by.abs())));
        cells(one.map(write), other.map(write), by)
    };
    html! {
        table.plain {
            thead { tr { th { "Figure" } th.num { "A" } th.num { "B" } th.num { "B − A" } } }
            tbody {
                @if let (Some(one), Some(other)) = (left.1, right.1) {
                    tr { th scope="row" { "Status" } td.num { (status(one.status, false)) } td.num { (status(other.status, false)) } td {} }
                    @if one.version.is_some() || other.version.is_some() {
                        tr {
                            th scope="row" { "Version" }
                            (cells(one.version.as_deref().map(|version| line(version, 40)), other.version.as_deref().map(|version| line(version, 40)), None))
                        }
                    }
                }
                tr { th scope="row" { "Took" } (figure(one.took.duration_nanos, other.took.duration_nanos, elapsed)) }
                tr { th scope="row" { "Model calls" } (counts(|of| Some(of.model_calls))) }
                tr { th scope="row" { "Tool calls" } (counts(|of| Some(of.tool_calls))) }
                tr { th scope="row" { "Failures" } (counts(|of| Some(of.failures))) }
                tr { th scope="row" { "Tokens in" } (counts(|of| of.took.input_tokens)) }
                tr { th scope="row" { "Tokens out" } (counts(|of| of.took.output_tokens)) }
                tr { th scope="row" { "Cost" } (costs(one.took.cost(), other.took.cost())) }
                @if one.reward.is_some() || other.reward.is_some() {
                    tr { th scope="row" { "Reward" } (amount(|of| of.reward, |reward| format!("{reward:.4}").trim_end_matches('0').trim_end_matches('.').to_owned())) }
                }
            }
        }
    }
}

pub(super) fn cells(left: Option<String>, right: Option<String>, by: Option<Markup>) -> Markup {
    let side = |text: Option<String>| html! { td.num { @match text { Some(text) => (text), None => (none("not recorded")) } } };
    html! { (side(left)) (side(right)) td.num.b { @if let Some(by) = by { (by) } } }
}

fn costs(left: Option<Cost>, right: Option<Cost>) -> Markup {
    let by = left.zip(right).map(|(one, other)| {
        let by = other.dollars - one.dollars;
        difference(by, by == 0.0, |by| dollars(by.abs()))
    });
    cells(left.map(|cost| cost.to_string()), right.map(|cost| cost.to_string()), by)
}

pub(super) fn figure(left: Option<u64>, right: Option<u64>, write: fn(u64) -> String) -> Markup {
    cells(left.map(write), right.map(write), change(left, right, write))
}

/// The difference between the second and the first.
fn change(left: Option<u64>, right: Option<u64>, write: fn(u64) -> String) -> Option<Markup> {
    let (left, right) = left.zip(right)?;
    let by = right.abs_diff(left);
    Some(difference(if right < left { -1.0 } else { 1.0 }, by == 0, |_| write(by)))
}

fn difference(by: f64, is_none: bool, write: impl Fn(f64) -> String) -> Markup {
    html! { @if is_none { span.faint { "=" } } @else { (if by < 0.0 { "−" } else { "+" }) (write(by)) } }
}

/// Tokens and time of both, and the differences.
pub(super) fn numbers(left: Option<&Took>, right: Option<&Took>) -> Markup {
    let three = |of: fn(&Took) -> Option<u64>, write: fn(u64) -> String| {
        let (left, right) = (left.and_then(of), right.and_then(of));
        html! {
            td.num { (left.map(write).unwrap_or_default()) }
            td.num { (right.map(write).unwrap_or_default()) }
            td.num.b { @if let Some(by) = change(left, right, write) { (by) } }
        }
    };
    html! { (three(|took| took.input_tokens, count)) (three(|took| took.duration_nanos, elapsed)) }
}

fn row(compared: &Comparison, pair: &Pair) -> Markup {
    let failed = |side: &Option<StepSide>| side.as_ref().is_some_and(|step| step.failed);
    let (is_bad, what) = match (pair.change, failed(&pair.left), failed(&pair.right)) {
        (Change::OnlyLeft, ..) => (false, "only in A"),
        (Change::OnlyRight, ..) => (false, "only in B"),
        (_, true, false) => (true, "failed in A"),
        (_, false, true) => (true, "failed in B"),
        (_, true, true) => (true, "failed in both"),
        (Change::Changed, ..) if pair.differences.is_empty() => (false, "prompt differs"),
        (Change::Changed, ..) => (false, "words differ"),
        (Change::Same, ..) => (false, ""),
    };
    let step = pair.left.as_ref().or(pair.right.as_ref());
    html! {
        tr.only[matches!(pair.change, Change::OnlyLeft | Change::OnlyRight)] {
            td { (side(&compared.left, pair.left.as_ref())) }
            td { (side(&compared.right, pair.right.as_ref())) }
            (numbers(pair.left.as_ref().map(|step| &step.took), pair.right.as_ref().map(|step| &step.took)))
            td class=(if is_bad { "bad" } else { "dim" }) { (what) }
        }
        @if let (false, Some(step)) = (pair.differences.is_empty(), step) {
            tr.w {
                td colspan="9" {
                    details open[pair.differences.iter().all(is_short)] {
                        summary { "What differs in " (step.kind.replace('_', " ")) " " (line(tidy(&step.name), 60)) }
                        div { @for Difference { of, words } in &pair.differences { span.dim { (of) } span { (diff(words)) } } }
                    }
                }
            }
        }
    }
}

/// Whether it is short enough to be open at first.
fn is_short(difference: &Difference) -> bool {
    difference.words.iter().map(|piece| piece.text.len()).sum::<usize>() <= 300
}

fn side(whole: &Whole, step: Option<&StepSide>) -> Markup {
    let Some(step) = step else { return html! { span.none { "—" } } };
    html! {
        span class={ "n d" (step.depth.min(16)) } {
            (kind(Kind::from_name(step.kind).unwrap_or(Kind::Unknown))) " "
            a href={ "/runs/" (whole.trace_id) "?span=" (percent_encoded(&step.id)) } { (line(tidy(&step.name), 80)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_same_is_left_out_of_long_texts_only() {
        let both = |text: String| Piece { side: Side::Both, text };
        let long = "ä".repeat(3 * AROUND);
        let pieces = [
            both(long.clone()),
            Piece {
                side: Side::Left,
                text: "old".to_owned(),
            },
            Piece {
                side: Side::Right,
                text: "<new>".to_owned(),
            },
            both(long),
        ];
        let text = diff(&pieces).into_string();
        assert_eq!(text.matches("800 characters that are the same").count(), 2, "{text}");
        assert_eq!(text.matches('ä').count(), 2 * AROUND);
        assert!(text.contains("<del>old</del><ins>&lt;new&gt;</ins>"), "{text}");
        assert_eq!(diff(&[both("short".to_owned())]).into_string(), "short");
    }

    #[test]
    fn changes_have_a_sign() {
        let text = |left, right| change(left, right, count).map(Markup::into_string);
        assert_eq!(text(Some(1), Some(3)).as_deref(), Some("+2"));
        assert_eq!(text(Some(3), Some(1)).as_deref(), Some("−2"));
        assert_eq!(text(Some(3), Some(3)).as_deref(), Some("<span class=\"faint\">=</span>"));
        assert_eq!(text(None, Some(3)), None);
    }
}
