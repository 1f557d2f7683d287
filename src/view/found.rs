//! Finds words in the texts of a run: the step, the place in it, and the text around them.

use std::ops::ControlFlow;

use super::conversation::readable;
use super::seeking::Sought;
use super::text::one_line;
use super::{errors, step};
use crate::run::{Run, Step};
use crate::transcript::calls::Results;
use crate::transcript::content;

/// Maximum columns of text shown before and after the words.
const AROUND: usize = 80;

/// An occurrence of the words.
#[derive(Debug)]
pub(crate) struct Hit<'a> {
    /// The step.
    pub(crate) step: &'a Step,
    /// The place in the step, for example `arguments of refund`.
    pub(crate) place: String,
    /// The text before, on one line.
    pub(crate) before: String,
    /// The words as they occur.
    pub(crate) words: String,
    /// The text after.
    pub(crate) behind: String,
}

impl Hit<'_> {
    /// The kind and name of the step.
    pub(crate) fn of(&self, run: &Run) -> String {
        format!("{} {}", self.step.operation.kind.name(), step::name(run, self.step))
    }
}

/// Calls `each` with each text of a step and its place, until it stops. Texts shared with earlier calls are left to those.
pub(crate) fn each_text(
    run: &Run,
    of: &Step,
    results: &Results<'_>,
    each: &mut dyn FnMut(&str, &str) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let operation = &of.operation;
    each("name of the span", &operation.name)?;
    each("name", step::name(run, of))?;
    if let Some(failure) = &operation.failure {
        each("error", &errors::words(failure))?;
    }
    let input = operation.input_messages.as_ref().map(|messages| messages.own()).unwrap_or_default();
    for message in input.iter().chain(operation.output_messages.as_deref().unwrap_or_default()) {
        each(&format!("{} message", message.role.name()), &message.joined_text())?;
        if let Some(result) = &message.result {
            each("result in a message", &content::text(result))?;
        }
        for call in &message.tool_calls {
            each("called tool", &call.name)?;
            each(&format!("arguments of {}", call.name), &call.arguments_json())?;
        }
    }
    if let Some(arguments) = step::arguments(run, of) {
        each("arguments", &arguments)?;
    }
    if let Some(output) = content::output(results, of).filter(|_| operation.output_messages.is_none()) {
        each("output", &readable(output))?;
    }
    if let Some(input) = content::input(run, of).filter(|_| operation.input_messages.is_none()) {
        each("input", &readable(input))?;
    }
    for (key, value) in &operation.unmapped {
        each("attribute", key)?;
        each(&format!("attribute {key}"), &content::text(value))?;
    }
    ControlFlow::Continue(())
}

/// The steps that contain the words, each with the first place, in the order of the run. If the words occur nowhere
/// together, they are searched one by one, as a search index does. `goes_on`: whether the client still waits.
pub(crate) fn hits<'a>(run: &'a Run, text: &str, most: usize, goes_on: &dyn Fn() -> bool) -> Vec<Hit<'a>> {
    let text = text.trim();
    let words = text
        .split_whitespace()
        .map(|word| word.trim_matches('"'))
        .filter(|word| *word != text);
    for text in [text.trim_matches('"')].into_iter().chain(words) {
        let Some(sought) = Sought::of(text) else { continue };
        let found = hits_of(run, &sought, most, goes_on);
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

fn hits_of<'a>(run: &'a Run, sought: &Sought, most: usize, goes_on: &dyn Fn() -> bool) -> Vec<Hit<'a>> {
    let results = Results::of(run);
    let mut found = Vec::new();
    for of in &run.steps {
        if found.len() >= most || !goes_on() {
            break;
        }
        let _ = each_text(run, of, &results, &mut |place, text| {
            let Some(range) = sought.place(text) else {
                return ControlFlow::Continue(());
            };
            let (before, behind) = (
                text.get(..range.start).unwrap_or_default(),
                text.get(range.end..).unwrap_or_default(),
            );
            found.push(Hit {
                step: of,
                place: place.to_owned(),
                before: end_of(before),
                words: one_line(text.get(range).unwrap_or_default(), 2 * AROUND),
                behind: beginning_of(behind),
            });
            ControlFlow::Break(())
        });
    }
    found
}

/// The end of a text on one line.
fn end_of(text: &str) -> String {
    let from = text.char_indices().rev().nth(AROUND).map_or(0, |(at, _)| at);
    let end = one_line(text.get(from..).unwrap_or_default(), AROUND);
    // Keep the whitespace before the words: `one_line` removes it.
    let blank = if text.ends_with(char::is_whitespace) { " " } else { "" };
    format!("{}{end}{blank}", if from > 0 { "…" } else { "" })
}

/// The beginning of a text on one line.
fn beginning_of(text: &str) -> String {
    let blank = if text.starts_with(char::is_whitespace) { " " } else { "" };
    let beginning = text.get(..text.floor_char_boundary(8 * AROUND)).unwrap_or_default();
    format!("{blank}{}", one_line(beginning, AROUND))
}
