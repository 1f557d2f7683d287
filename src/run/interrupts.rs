//! Stage "interrupts": takes the steps and adds those without a span where a person was asked, and the run waits or continued
//! with the answer.
//!
//! This runs after the steps, since it reads their inputs and outputs, and before the order, which includes the new steps.
//!
//! Graphs stop with an exception or put `__interrupt__` into their output, agents return the calls that await an approval, and
//! the continuing run receives a `resume`.

use memchr::memmem::Finder;
use serde_json::{Map, Value};

use super::id::{IdVec, ScopeId, StepId};
use super::model::{Scope, Step};
use crate::operation::{Form, Interrupt, Kind, Message, Operation, Part, Recorded, arguments_text};
use crate::span::UnixNanos;

/// Adds the steps. If nested spans record the same interrupt, the innermost counts.
pub(super) fn add(steps: &mut IdVec<StepId, Step>) {
    let asking = ["\"__interrupt__\"", "\"approvals\""].map(Finder::new);
    let asked: Vec<Vec<Interrupt>> = steps.iter().map(|step| asked(step, &asking)).collect();
    let mut is_around: IdVec<StepId, bool> = IdVec::filled(false, steps.len());
    for (at, _) in steps.ids().zip(&asked).filter(|(_, asked)| !asked.is_empty()) {
        mark_above(steps, at, &mut is_around);
    }
    let mut made: Vec<Step> = Vec::new();
    for (at, asked) in steps.ids().zip(asked) {
        let Some(step) = steps.get_mut(at) else { continue };
        // A waiting tool has no result yet: it keeps the interrupt as the reason.
        if !matches!(step.operation.kind, Kind::Interrupt | Kind::Tool)
            && step.operation.interrupt.as_ref().is_some_and(|it| it.response.is_none())
        {
            step.operation.interrupt = None;
        }
        if !is_around.is_set(at) {
            let end = step.end_or_start();
            made.extend(
                asked
                    .into_iter()
                    .enumerate()
                    .map(|(place, interrupt)| new(step, at, place, end, interrupt)),
            );
        }
    }
    answer(steps, &mut made);
    name_what_waits(steps);
    steps.extend(made);
}

fn mark_above(steps: &IdVec<StepId, Step>, from: StepId, marks: &mut IdVec<StepId, bool>) {
    let parent = |at: StepId| steps.get(at).and_then(|step| step.parent);
    let mut up = parent(from);
    while let Some(at) = up.filter(|at| !marks.is_set(*at)) {
        marks.set(at, true);
        up = parent(at);
    }
}

fn new(step: &Step, parent: StepId, place: usize, at: UnixNanos, interrupt: Interrupt) -> Step {
    let id = if place == 0 {
        format!("{}:interrupt", step.id)
    } else {
        format!("{}:interrupt{place}", step.id)
    };
    let operation = Operation {
        kind: Kind::Interrupt,
        name: "interrupt".to_owned(),
        interrupt: Some(Box::new(interrupt)),
        ..Operation::default()
    };
    Step {
        parent: Some(parent),
        evidence: step.span_id.into_iter().collect(),
        ..Step::new(id, step.scope, operation, (at, Some(at)))
    }
}

/// The questions of a step to a person. An output without any of these words asks none.
fn asked(step: &Step, asking: &[Finder<'_>]) -> Vec<Interrupt> {
    let operation = &step.operation;
    if operation.kind == Kind::Interrupt {
        return Vec::new();
    }
    if let Some(interrupt) = operation.interrupt.as_deref().filter(|interrupt| interrupt.response.is_none()) {
        let called = operation
            .tool
            .as_ref()
            .map(|tool| call(tool.name.as_deref(), tool.arguments.as_ref()));
        let prompt = interrupt.prompt.clone().or(called);
        return vec![Interrupt {
            prompt,
            ..interrupt.clone()
        }];
    }
    let prompts = match operation.kind {
        Kind::Llm => operation.output_messages.iter().flatten().flat_map(approvals).collect(),
        Kind::Agent | Kind::Chain => in_output(&operation.output, asking),
        _ => Vec::new(),
    };
    let of = |prompt| Interrupt {
        prompt: Some(prompt),
        ..Interrupt::default()
    };
    prompts.into_iter().map(of).collect()
}

/// Calls in an answer's parts that await an approval.
fn approvals(message: &Message) -> impl Iterator<Item = String> {
    message.parts.iter().filter_map(|part| match part {
        Part::Other(Value::Object(map)) if matches!(text(map, "type"), Some("tool-approval-request" | "mcp_approval_request")) => {
            let asked = map.get("toolCall").and_then(Value::as_object).unwrap_or(map);
            Some(call(text(asked, "name").or_else(|| text(asked, "toolName")), arguments(asked)))
        }
        _ => None,
    })
}

/// A recorded value, parsed only if its text contains one of these words.
fn holding<'a>(recorded: &'a Recorded, words: &[Finder<'_>]) -> Option<&'a Value> {
    match recorded.form()? {
        Form::Text(text) if !words.iter().any(|word| word.find(text.as_bytes()).is_some()) => None,
        _ => recorded.get(),
    }
}

/// An object, and the objects inside a client's envelope.
fn objects(value: &Value) -> impl Iterator<Item = &Map<String, Value>> {
    let inner = ["outputs", "output", "inputs", "input"]
        .iter()
        .filter_map(|key| value.get(*key)?.as_object());
    value.as_object().into_iter().chain(inner)
}

fn in_output(output: &Recorded, asking: &[Finder<'_>]) -> Vec<String> {
    let Some(value) = holding(output, asking) else {
        return Vec::new();
    };
    for map in objects(value) {
        if let Some(Value::Array(list)) = map.get("__interrupt__") {
            let word = |item: &Value| match item.get("value").unwrap_or(item) {
                Value::String(text) => crate::dialect::interrupt_prompt(text),
                other => other.to_string(),
            };
            return list.iter().map(word).collect();
        }
        if let (Some(Value::Array(calls)), Some(Value::Array(approvals))) = (map.get("calls"), map.get("approvals")) {
            let asked = approvals.iter().chain(calls).filter_map(Value::as_object);
            return asked.map(|asked| call(text(asked, "tool_name"), arguments(asked))).collect();
        }
    }
    Vec::new()
}

fn text<'a>(map: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    map.get(key).and_then(Value::as_str)
}

fn arguments(map: &Map<String, Value>) -> Option<&Value> {
    ["arguments", "args", "input"].iter().find_map(|key| map.get(*key))
}

/// A call as text.
fn call(name: Option<&str>, arguments: Option<&Value>) -> String {
    format!("{}({})", name.unwrap_or("tool"), arguments.map(arguments_text).unwrap_or_default())
}

/// Gives each `resume` to the preceding interrupt of the same trace; one that answers another trace's becomes a separate step.
fn answer(steps: &mut IdVec<StepId, Step>, made: &mut Vec<Step>) {
    let mut resumed: Vec<(StepId, Value)> = Vec::new();
    let mut resumes: IdVec<StepId, bool> = IdVec::filled(false, steps.len());
    let answering = [Finder::new("\"resume\"")];
    for (at, step) in steps.enumerate() {
        if !matches!(step.operation.kind, Kind::Agent | Kind::Chain) {
            continue;
        }
        let value = holding(&step.operation.input, &answering);
        let resume = value.into_iter().flat_map(objects).find_map(|map| {
            let command = map.contains_key("goto") || map.contains_key("update");
            map.get("resume").filter(|resume| command && !resume.is_null())
        });
        if let Some(resume) = resume {
            resumed.push((at, resume.clone()));
        }
    }
    for (at, _) in &resumed {
        resumes.set(*at, true);
    }
    resumed.retain(|(at, _)| {
        let mut up = steps.get(*at).and_then(|step| step.parent);
        let mut far = 0;
        while let Some(above) = up.filter(|_| far < 64) {
            if resumes.is_set(above) {
                return false;
            }
            up = steps.get(above).and_then(|step| step.parent);
            far += 1;
        }
        true
    });
    let start = |at: StepId| steps.get(at).map(|step| step.started_at);
    resumed.sort_by_key(|(at, _)| (start(*at), *at));
    made.sort_by(|a, b| (a.started_at, &a.id).cmp(&(b.started_at, &b.id)));
    let mut open = 0;
    let waiting = made.len();
    for (at, response) in resumed {
        let Some(step) = steps.get(at) else { continue };
        let before = made.get_mut(open..waiting).and_then(|open| open.first_mut());
        match before.filter(|before| before.started_at <= step.started_at) {
            Some(before) => {
                open += 1;
                before.ended_at = Some(step.started_at);
                let wait = step.started_at.millis_since(before.started_at);
                if let Some(interrupt) = &mut before.operation.interrupt {
                    (interrupt.response, interrupt.wait_ms) = (Some(response), Some(wait));
                }
            }
            None => {
                let interrupt = Interrupt {
                    response: Some(response),
                    ..Interrupt::default()
                };
                made.push(new(step, at, 0, step.started_at, interrupt));
            }
        }
    }
}

/// An interrupt whose span is inside a tool asks whether the tool may run.
fn name_what_waits(steps: &mut IdVec<StepId, Step>) {
    for at in steps.ids() {
        let prompt = steps.get(at).and_then(|step| {
            let unsaid =
                step.operation.interrupt.as_ref().is_none_or(|interrupt| interrupt.prompt.is_none()) && step.operation.input.is_none();
            let tool = steps.get(step.parent?)?.operation.tool.as_ref();
            let tool = tool.filter(|_| unsaid && step.operation.kind == Kind::Interrupt)?;
            Some(call(tool.name.as_deref(), tool.arguments.as_ref()))
        });
        if let Some(prompt) = prompt
            && let Some(step) = steps.get_mut(at)
        {
            step.operation.interrupt.get_or_insert_default().prompt = Some(prompt);
        }
    }
}

/// Whether the run ends with a question to a person: the continuing trace has the answer.
pub(super) fn waits(steps: &IdVec<StepId, Step>, scopes: &IdVec<ScopeId, Scope>) -> bool {
    let is_auxiliary = |step: &Step| scopes.get(step.scope).is_some_and(|scope| scope.is_auxiliary);
    let last = steps
        .iter()
        .filter(|step| step.operation.kind == Kind::Llm && !is_auxiliary(step))
        .map(|step| step.started_at)
        .max();
    let asks = |step: &&Step| {
        let interrupt = step.operation.interrupt.as_ref();
        step.operation.kind == Kind::Interrupt && interrupt.is_some_and(|interrupt| interrupt.response.is_none())
    };
    // An interrupt's own span may lack the person's answer: only an interrupt that stopped the run waits.
    let mut open = steps.iter().filter(asks).filter(|step| step.span_id.is_none());
    open.any(|step| last.is_none_or(|last| last <= step.end_or_start()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::run::testing::step;

    #[test]
    fn a_resume_answers_the_interrupt_before_it() {
        let chain = |id: &str, start| step(id.to_owned(), Kind::Chain, "", UnixNanos(start), UnixNanos(start + 5_000_000));
        let mut stopped = chain("a", 0);
        stopped.operation.output = Recorded::from(json!({"__interrupt__": [{"value": "May I?"}]}));
        let mut resumed = chain("b", 20_000_000);
        resumed.operation.input = Recorded::from(json!({"resume": "yes", "goto": null}));
        let mut steps: IdVec<StepId, Step> = [stopped, resumed].into_iter().collect();
        add(&mut steps);
        let made = steps.last().map(|step| (step.id.as_str(), step.operation.interrupt.as_deref()));
        let Some((id, Some(interrupt))) = made else {
            panic!("no interrupt was made: {made:?}");
        };
        assert_eq!(
            (id, interrupt.response.as_ref(), interrupt.wait_ms),
            ("a:interrupt", Some(&json!("yes")), Some(15))
        );
    }
}
