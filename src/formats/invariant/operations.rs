//! Places operations without an event: their facts go to `operations` in the metadata of the enclosing event.

use super::list::List;
use crate::document::json::{Json, Object, Text, trimmed};
use crate::operation::Kind;
use crate::run::{Step, StepId};
use crate::transcript::{calls, facts, hands_on};

impl<'a> List<'a, '_> {
    /// Puts the facts of operations without an event on the enclosing event, else on the next one in time.
    pub(super) fn settle(&mut self, steps: &[StepId]) {
        self.record_texts();
        for &index in steps {
            let Some(step) = self.step(Some(index)) else { continue };
            let Some(content) = self.around(step) else { continue };
            let home = self.event_around(index);
            let home = home.or_else(|| self.first_since(step.end_or_start()));
            let home = home.or_else(|| self.drafts.iter().rposition(|draft| !draft.gone));
            match home.and_then(|home| self.drafts.get_mut(home)) {
                Some(draft) => draft.metadata.push("operations", content),
                None => self.unsettled.push(index),
            }
        }
    }

    /// Takes over the operations of a list without events.
    pub(super) fn settle_silent(&mut self, list: Self) {
        self.losses.extend(list.losses);
        self.settle(&list.unsettled);
    }

    /// The event of the nearest enclosing step, starting with the step itself.
    fn event_around(&mut self, index: StepId) -> Option<usize> {
        let ranges = self.facts.ranges();
        for step in std::mem::take(&mut self.newly_with_event) {
            self.with_event.add(ranges, step);
        }
        let nearest = self.with_event.nearest(ranges, index)?;
        self.event_of(nearest)
    }

    /// The facts of an operation without an event; `None` if there are none. Agents and chains repeat the words of their
    /// conversations: anything an event already contains is left out.
    fn around(&self, step: &'a Step) -> Option<Object<'a>> {
        if matches!(step.operation.kind, Kind::Plain | Kind::Detail) {
            return None;
        }
        let mut content = facts::in_and_out(self.run, self.facts.results(), step);
        let is_tool = step.operation.kind == Kind::Tool;
        if !content.is_empty() && (is_tool || hands_on(step.operation.kind)) {
            let outside = self.outside(step);
            content.retain(|_, value| !self.is_written(value, &outside));
        }
        content.extend(facts::all(self.run, step));
        let mut out = facts::identity(step);
        (is_tool || !content.is_empty()).then(|| {
            out.extend(content);
            out
        })
    }

    /// Records the texts of the latest events.
    fn record_texts(&mut self) {
        let (event_texts, until) = &mut self.event_texts;
        for draft in self.drafts.iter().skip(*until) {
            let (content, calls) = (draft.event.get("content"), draft.event.get("tool_calls"));
            if let Some(content) = content.as_deref() {
                texts(content, event_texts);
                if let Json::List(parts) = content {
                    let mut words = String::new();
                    for part in parts.iter().filter_map(Json::as_object) {
                        words.push_str(part.get("text").as_deref().and_then(Json::as_str).unwrap_or_default());
                    }
                    event_texts.insert(words.trim().to_owned().into());
                }
            }
            let Some(Json::List(calls)) = calls.as_deref() else { continue };
            for function in calls.iter().filter_map(|call| call.as_object()?.get("function")) {
                let arguments = function.as_object().and_then(|function| function.get("arguments"));
                arguments.into_iter().for_each(|arguments| texts(&arguments, event_texts));
            }
        }
        *until = self.drafts.len();
    }

    /// Texts that are written outside this list: the question, the answer, the call that started an agent.
    fn outside(&self, step: &Step) -> Vec<Text<'a>> {
        let run = self.run;
        let mut out = Vec::new();
        for utterance in [&run.question, &run.answer].into_iter().flatten() {
            texts(&Json::from(&utterance.content), &mut out);
        }
        let caller = run.scopes.get(step.scope).and_then(|scope| run.steps.get(scope.called_by?));
        if let Some(caller) = caller {
            for value in [calls::arguments(run, caller), self.facts.results().get(caller)]
                .into_iter()
                .flatten()
            {
                texts(&Json::from(value), &mut out);
            }
        }
        out
    }

    fn is_written(&self, value: &Json<'a>, outside: &[Text<'a>]) -> bool {
        let text = value.clone().into_text();
        let text = text.trim();
        value.is_null()
            || text.is_empty()
            || self.event_texts.0.contains(text)
            || outside.iter().any(|words| words == text)
            || only(value).is_some_and(|inner| self.is_written(&inner, outside))
    }
}

/// Collects the text of a value, and of the single value inside it.
fn texts<'a>(value: &Json<'a>, out: &mut impl Extend<Text<'a>>) {
    out.extend([trimmed(value.clone().into_text())]);
    if let Some(inner) = only(value) {
        texts(&inner, out);
    }
}

/// The single value that another value merely wraps.
fn only<'a>(value: &Json<'a>) -> Option<Json<'a>> {
    match value {
        Json::Object(object) if object.len() == 1 => object.clone().into_iter().next().map(|(_, value)| value),
        Json::Values([one]) => Some(one.into()),
        Json::List(list) => match list.as_slice() {
            [one] => Some(one.clone()),
            _ => None,
        },
        _ => None,
    }
}
