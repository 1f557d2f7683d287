//! Runs cut at a step, as they were when it had ended, to go on from there in another way.
//!
//! A model call stays whole, with the tools that it asked for and their results: a model can go on behind it. A tool, and a step of an
//! agent that a tool called, stand for the model call that asked for them.

use super::id::{IdVec, StepId};
use super::model::{EntryKind, Run, Step};

/// Cuts runs behind the step with this id, and leaves only those of its session before it, which become a session of their own; `false`: none
/// has such a step.
pub(crate) fn cut(runs: &mut Vec<Run>, step: &str) -> bool {
    let is_meant = |of: &Step| of.id == step || of.span_id.is_some_and(|span| span.to_string() == step);
    let place = |run: &Run| run.steps.enumerate().find(|(_, of)| is_meant(of)).map(|(id, _)| id);
    let Some((number, id)) = runs.iter().enumerate().find_map(|(number, run)| Some((number, place(run)?))) else {
        return false;
    };
    let mut last = runs.swap_remove(number);
    let is_before = |run: &Run| run.session_id.is_some() && run.session_id == last.session_id && run.started_at < last.started_at;
    runs.retain(is_before);
    runs.sort_by_key(|run| (run.started_at, run.trace_id));
    let session = last.session_id.clone().unwrap_or_else(|| last.trace_id.to_string());
    last.cut(id);
    runs.push(last);
    for run in runs {
        run.session_id = Some(format!("{session} until {step}"));
    }
    true
}

impl Run {
    fn cut(&mut self, at: StepId) {
        let at = self.in_outermost_conversation(at);
        let inside = self.inside(at);
        let kept = || inside.enumerate().filter(|(_, is_inside)| **is_inside).map(|(id, _)| id);
        let last = kept().max().unwrap_or(at);
        let end = kept().filter_map(|id| self.steps.get(id)).map(Step::end_or_start).max();
        if self.steps.ids().next_back() == Some(last) {
            return;
        }
        let end = end.unwrap_or(self.started_at);
        let mut above = self.steps.get(at).and_then(|step| step.parent);
        let is_kept = |id: Option<StepId>| id.is_none_or(|id| id <= last);
        let said_later = |id: StepId, above: &[StepId]| id > last || above.contains(&id);
        let mut list: Vec<Step> = std::mem::replace(&mut self.steps, IdVec::with_capacity(0)).into();
        list.truncate(last.index() + 1);
        self.steps = list.into();
        // What is around the step went on.
        let mut around = Vec::new();
        while let Some(step) = above.and_then(|id| self.steps.get_mut(id)) {
            step.ended_at = None;
            step.operation.output = Default::default();
            step.operation.output_messages = None;
            step.operation.failure = None;
            around.extend(above);
            above = step.parent;
        }
        for scope in &mut self.scopes {
            if !is_kept(scope.step) || !is_kept(scope.called_by) {
                (scope.step, scope.called_by) = (None, None);
                scope.conversation.clear();
            }
            let mut follows = true;
            scope.conversation.retain(|entry| {
                let of = match &entry.kind {
                    EntryKind::Message(_) | EntryKind::Turn(_) => entry.step,
                    EntryKind::Call(call) => Some(call.tool),
                    // It may be known from the input of a later call alone.
                    EntryKind::Result(result) if result.tool.is_none() => return follows,
                    EntryKind::Result(result) => result.tool,
                };
                let is_kept = is_kept(of) && (of.is_some() || entry.at <= end);
                if !matches!(entry.kind, EntryKind::Result(_)) {
                    follows = is_kept;
                }
                is_kept
            });
        }
        self.root = self.root.filter(|root| *root <= last);
        self.question = self.question.take().filter(|said| said.step <= last);
        self.answer = self.answer.take().filter(|said| !said_later(said.step, &around));
        self.failure = None;
        self.ended_at = Some(end);
        let spans: crate::hash::HashSet<_> = self.steps.iter().filter_map(|step| step.span_id).collect();
        self.findings.retain(|found| found.span_id.is_none_or(|span| spans.contains(&span)));
        self.annotations
            .retain(|about| about.judged.is_none_or(|span| spans.contains(&span)));
    }

    /// The step of the outermost conversation that a step belongs to.
    fn in_outermost_conversation(&self, mut at: StepId) -> StepId {
        while let Some(step) = self.steps.get(at) {
            let called_by = self.scopes.get(step.scope).and_then(|scope| scope.called_by);
            match step.dispatched_by.or(called_by).filter(|above| *above < at) {
                Some(above) => at = above,
                None => break,
            }
        }
        at
    }

    /// The step, what it asked for, and what is in that.
    fn inside(&self, at: StepId) -> IdVec<StepId, bool> {
        let mut inside: IdVec<StepId, bool> = IdVec::with_capacity(self.steps.len());
        for (id, step) in self.steps.enumerate() {
            let called_by = self.scopes.get(step.scope).and_then(|scope| scope.called_by);
            let above = [step.parent, step.dispatched_by, step.inside_tool, called_by];
            let is_inside = id == at || above.into_iter().flatten().any(|above| inside.is_set(above));
            let _ = inside.push(is_inside);
        }
        inside
    }
}
