//! A run as an indented text tree. A new field of an operation is shown under its name in `semconv/`; other new facts do not compile
//! until they are shown.

use std::fmt::Write as _;

use spanbridge::dialect::Field;
use spanbridge::operation::{Cost, Message, Operation, Role, TokenCount, ToolUse};
use spanbridge::run::{AgentInfo, CallEntry, Entry, EntryKind, IdVec, Observed, ResultEntry, Run, Scope, ScopeId, Step, StepId};
use spanbridge::span::UnixNanos;

use super::words::{cut, failure, map, parts, quoted, value};

/// Groups of an operation that are shown with all of their fields.
const SHOWN_GROUPS: [&str; 11] = [
    "agent.",
    "model.",
    "search.",
    "memory.",
    "state.",
    "interrupt.",
    "training.",
    "content_type.",
    "prompt.",
    "resource_impact.",
    "task.",
];

/// Other fields that have a line of their own, or a place in one.
const SHOWN: [&str; 36] = [
    "usage.input",
    "usage.output",
    "usage.total",
    "usage.cache_read",
    "usage.cache_write",
    "usage.reasoning",
    "cost.total",
    "cost.input",
    "cost.output",
    "tool.name",
    "tool.call_id",
    "tool.arguments",
    "tool.result",
    "tool.description",
    "tool.parameters",
    "tool.mcp_server",
    "time_to_first_token",
    "response_id",
    "finish_reason",
    "parameters",
    "tool_definitions",
    "input_messages",
    "output_messages",
    "input",
    "output",
    "raw_response",
    "embedded_texts",
    "vector_count",
    "evaluations",
    "session_id",
    "user_id",
    "workflow",
    "graph_node",
    "tags",
    "metadata",
    "format_extras",
];

pub(crate) fn of_run(run: &Run) -> String {
    let mut tree = Tree { run, out: String::new() };
    tree.head();
    tree.out += "steps\n";
    tree.steps();
    if !run.scopes.is_empty() {
        tree.out += "scopes\n";
    }
    for (index, scope) in run.scopes.enumerate() {
        tree.scope(index, scope);
    }
    if !run.findings.is_empty() {
        tree.out += "findings\n";
    }
    for finding in &run.findings {
        let span = finding.span_id.map(|id| format!(" {id}")).unwrap_or_default();
        tree.line(1, &format!("{:?}{span}: {}", finding.kind, finding.detail));
    }
    tree.out
}

struct Tree<'a> {
    run: &'a Run,
    out: String,
}

impl Tree<'_> {
    fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.out, "{:1$}{text}", "", 2 * depth);
    }

    fn note(&mut self, depth: usize, label: &str, text: Option<String>) {
        if let Some(text) = text {
            self.line(depth, &format!("{label}: {text}"));
        }
    }

    /// A step's id; what names no step says so.
    fn id(&self, step: StepId) -> String {
        match self.run.steps.get(step) {
            Some(step) => format!("[{}]", step.id),
            None => format!("[no step {step}]"),
        }
    }

    fn offset(&self, at: UnixNanos) -> String {
        let nanos = i128::from(at.0) - i128::from(self.run.started_at.0);
        format!("{:+}us", nanos / 1000)
    }

    fn head(&mut self) {
        let Run {
            trace_id,
            session_id,
            user_id,
            started_at,
            ended_at,
            agent,
            resource,
            failure: failed,
            root,
            steps: _,
            scopes: _,
            question,
            answer,
            metadata,
            findings: _,
            annotations,
        } = self.run;
        let AgentInfo {
            name,
            version,
            framework,
            framework_version,
            instrumentation,
            instrumentation_version,
        } = agent;
        self.line(0, &format!("trace {trace_id}"));
        self.note(1, "session", session_id.clone());
        self.note(1, "user", user_id.clone());
        self.note(1, "started", Some(started_at.rfc3339_micros()));
        self.note(
            1,
            "ended",
            Some(ended_at.map_or_else(|| "not yet".to_owned(), |at| self.offset(at))),
        );
        let with = |name: &Option<String>, version: &Option<String>| match (name, version) {
            (None, None) => None,
            (name, version) => Some([name.as_deref(), version.as_deref()].map(|word| word.unwrap_or("?")).join(" ")),
        };
        self.note(1, "agent", with(name, version));
        self.note(1, "framework", with(framework, framework_version));
        self.note(1, "instrumentation", with(instrumentation, instrumentation_version));
        let mut keys: Vec<&str> = resource.keys().map(String::as_str).collect();
        keys.sort_unstable();
        self.note(1, "resource", (!keys.is_empty()).then(|| keys.join(", ")));
        self.note(1, "root", root.map(|root| self.id(root)));
        self.note(
            1,
            "failed",
            failed
                .as_ref()
                .map(|failed| format!("[{}] {}", failed.span_id, failure(&failed.failure))),
        );
        for (label, said) in [("question", question), ("answer", answer)] {
            let text = said.as_ref().map(|said| {
                let lone = if said.in_conversation { "" } else { " (in no model call)" };
                format!("{} {}{lone} {}", self.id(said.step), self.offset(said.at), value(&said.content))
            });
            self.note(1, label, text);
        }
        self.note(1, "metadata", (!metadata.is_empty()).then(|| map(metadata)));
        for said in annotations {
            self.note(
                1,
                "annotation",
                Some(format!("[{}] {:?} counts {}", said.span_id, said.evaluation, said.counts)),
            );
        }
    }

    /// Each step under its parent; siblings in their order in the run.
    fn steps(&mut self) {
        let mut children: IdVec<StepId, Vec<StepId>> = IdVec::filled(Vec::new(), self.run.steps.len());
        let mut tops = Vec::new();
        for (index, step) in self.run.steps.enumerate() {
            match step.parent.and_then(|parent| children.get_mut(parent)) {
                Some(list) => list.push(index),
                None => tops.push(index),
            }
        }
        let mut open: Vec<(StepId, usize)> = tops.into_iter().rev().map(|index| (index, 1)).collect();
        while let Some((index, depth)) = open.pop() {
            if let Some(step) = self.run.steps.get(index) {
                self.step(step, depth);
            }
            let below = children.get(index).into_iter().flatten().rev();
            open.extend(below.map(|child| (*child, depth + 1)));
        }
    }

    fn step(&mut self, step: &Step, depth: usize) {
        let Step {
            id,
            span_id: _,
            parent: _,
            scope,
            observed,
            operation,
            started_at,
            ended_at,
            turn,
            dispatched_by,
            call_index,
            inside_tool,
            called_by,
            evidence,
            same_call_as,
            computed_cost: _,
        } = step;
        let mut text = format!("{} {} [{id}]", operation.kind.name(), quoted(&operation.name));
        let _ = write!(text, " {}", self.offset(*started_at));
        let _ = match ended_at {
            Some(end) => write!(text, " for {}us", end.0.saturating_sub(started_at.0) / 1000),
            None => write!(text, " open"),
        };
        let _ = write!(text, " scope {scope}");
        if *observed == Observed::Messages {
            text += " told by messages";
        }
        if let Some(turn) = turn {
            let _ = write!(text, " turn {turn}");
        }
        self.line(depth, &text);
        let depth = depth + 1;
        let call = call_index.map_or_else(String::new, |index| format!(" call {index}"));
        self.note(depth, "dispatched by", dispatched_by.map(|by| self.id(by) + &call));
        self.note(depth, "inside tool", inside_tool.map(|tool| self.id(tool)));
        self.note(depth, "called by", called_by.map(|by| self.id(by)));
        let spans: Vec<String> = evidence.iter().map(ToString::to_string).collect();
        self.note(depth, "evidence", (!spans.is_empty()).then(|| spans.join(", ")));
        self.note(depth, "same call as", same_call_as.map(|(trace, span)| format!("{trace} {span}")));
        self.operation(operation, depth);
    }

    fn operation(&mut self, operation: &Operation, depth: usize) {
        let Operation {
            agent,
            model,
            input_messages,
            output_messages,
            input,
            output,
            raw_response,
            response_id,
            finish_reason,
            parameters,
            tool_definitions,
            usage,
            cost,
            time_to_first_token,
            tool,
            search,
            embedded_texts,
            vector_count,
            memory,
            state,
            interrupt,
            evaluations,
            training,
            content_type,
            prompt,
            resource_impact,
            task,
            session_id,
            user_id,
            workflow,
            graph_node,
            tags,
            metadata,
            failure: failed,
            format_extras,
            unmapped,
            ..
        } = operation;
        self.facts(depth, "agent", &format!("{agent:?}"), *agent == Default::default());
        self.facts(depth, "model", &format!("{model:?}"), *model == Default::default());
        self.note(depth, "tokens", tokens(usage));
        self.note(depth, "cost", money(cost));
        self.note(depth, "time to first token", time_to_first_token.map(|seconds| seconds.to_string()));
        self.note(depth, "response id", response_id.clone());
        self.note(depth, "finished", finish_reason.clone());
        self.note(depth, "parameters", (!parameters.is_empty()).then(|| map(parameters)));
        let names: Vec<&str> = tool_definitions.iter().map(|tool| tool.name.as_str()).collect();
        self.note(depth, "tools", (!names.is_empty()).then(|| names.join(", ")));
        let count = |messages: Option<&[Message]>| messages.map(|list| format!("{} messages", list.len()));
        self.note(depth, "input messages", count(input_messages.as_deref()));
        self.note(depth, "output messages", count(output_messages.as_deref()));
        self.note(depth, "input", input.get().map(value));
        self.note(depth, "output", output.get().map(value));
        self.note(depth, "raw response", raw_response.as_ref().map(value));
        self.note(depth, "tool", tool.as_deref().map(tool_use));
        self.facts(depth, "search", &format!("{search:?}"), search.is_none());
        self.facts(depth, "embedded", &format!("{embedded_texts:?}"), embedded_texts.is_empty());
        self.note(depth, "vectors", vector_count.map(|count| count.to_string()));
        self.facts(depth, "memory", &format!("{memory:?}"), memory.is_none());
        self.facts(depth, "state", &format!("{state:?}"), state.is_none());
        self.facts(depth, "interrupt", &format!("{interrupt:?}"), interrupt.is_none());
        self.facts(depth, "evaluations", &format!("{evaluations:?}"), evaluations.is_empty());
        self.facts(depth, "training", &format!("{:?}", **training), *training == Default::default());
        self.facts(
            depth,
            "content",
            &format!("{:?}", **content_type),
            *content_type == Default::default(),
        );
        self.facts(depth, "prompt", &format!("{:?}", **prompt), *prompt == Default::default());
        self.facts(depth, "resource impact", &format!("{resource_impact:?}"), resource_impact.is_none());
        self.facts(depth, "task", &format!("{:?}", **task), *task == Default::default());
        self.note(depth, "session", session_id.clone());
        self.note(depth, "user", user_id.clone());
        self.note(depth, "workflow", workflow.clone());
        self.note(depth, "graph node", graph_node.clone());
        self.note(depth, "tags", (!tags.is_empty()).then(|| tags.join(", ")));
        self.note(depth, "metadata", (!metadata.is_empty()).then(|| map(metadata)));
        self.note(depth, "failed", failed.as_ref().map(failure));
        self.note(depth, "extras", (!format_extras.is_empty()).then(|| map(format_extras)));
        // A field that is in no line above.
        for field in Field::ALL {
            let path = field
                .path()
                .filter(|path| !SHOWN.contains(path) && !SHOWN_GROUPS.iter().any(|group| path.starts_with(group)));
            if let (Some(_), Some(value)) = (path, field.value(operation)) {
                self.note(depth, field.word(), Some(format!("{value:?}")));
            }
        }
        let keys: Vec<&str> = unmapped.keys().map(String::as_str).collect();
        self.note(depth, "unmapped", (!keys.is_empty()).then(|| keys.join(", ")));
    }

    /// Facts that few steps have, in Rust's own form without what is not said.
    fn facts(&mut self, depth: usize, label: &str, debug: &str, unsaid: bool) {
        if unsaid {
            return;
        }
        let inner = debug.split_once('{').and_then(|(_, inner)| inner.rsplit_once('}'));
        let is_plain = !debug.starts_with('[') && inner.is_some_and(|(inner, _)| !inner.contains(['{', '[']));
        let text = match inner {
            Some((inner, _)) if is_plain => {
                let said = inner.split(", ").map(str::trim).filter(|field| !field.ends_with(": None"));
                said.collect::<Vec<_>>().join(", ")
            }
            _ => debug.to_owned(),
        };
        self.note(depth, label, Some(cut(&text, 400)));
    }

    fn scope(&mut self, index: ScopeId, scope: &Scope) {
        let Scope {
            agent,
            step,
            parent,
            called_by,
            is_auxiliary,
            is_unrelated,
            conversation,
        } = scope;
        let mut text = format!("scope {index}");
        if let Some(agent) = agent {
            let _ = write!(text, " of {}", quoted(agent));
        }
        for (label, step) in [("", step), (" called by", called_by)] {
            if let Some(step) = step {
                let _ = write!(text, "{label} {}", self.id(*step));
            }
        }
        if let Some(parent) = parent {
            let _ = write!(text, " inside scope {parent}");
        }
        if *is_auxiliary {
            text += " auxiliary";
        }
        if *is_unrelated {
            text += " unrelated";
        }
        self.line(1, &text);
        for entry in conversation {
            self.entry(entry);
        }
    }

    fn entry(&mut self, entry: &Entry) {
        let Entry { kind, step, at, branch } = entry;
        let (label, said) = match kind {
            EntryKind::Message(message) => (role(&message.role).to_owned(), parts(message)),
            EntryKind::Turn(message) => (format!("turn of {}", role(&message.role)), parts(message)),
            EntryKind::Call(CallEntry { call_id, tool }) => ("call".to_owned(), vec![format!("#{call_id} run by {}", self.id(*tool))]),
            EntryKind::Result(result) => ("result".to_owned(), self.result(result)),
        };
        let by = step.map_or_else(String::new, |step| format!(" {}", self.id(step)));
        let branch = if *branch { " (branch)" } else { "" };
        self.line(2, &format!("{label}{by} {}{branch}", self.offset(*at)));
        for line in said {
            self.line(3, &line);
        }
    }

    fn result(&self, entry: &ResultEntry) -> Vec<String> {
        let ResultEntry {
            call_id,
            tool,
            tool_name,
            result,
            given,
            failure: failed,
            attempt,
        } = entry;
        let by = tool.map_or_else(|| "told by messages".to_owned(), |tool| format!("of {}", self.id(tool)));
        let by = by + &tool_name.as_ref().map(|name| format!(" as {name}")).unwrap_or_default();
        let again = if *attempt > 0 {
            format!(" attempt {attempt}")
        } else {
            String::new()
        };
        let mut lines = vec![format!("#{call_id} {by}{again}"), value(result)];
        lines.extend(given.as_ref().map(|given| format!("given: {}", value(given))));
        lines.extend(failed.as_ref().map(|failed| format!("failed: {}", failure(failed))));
        lines
    }
}

fn role(role: &Role) -> &str {
    role.name()
}

fn tokens(usage: &TokenCount) -> Option<String> {
    let TokenCount {
        input,
        output,
        total,
        cache_read,
        cache_write,
        reasoning,
        ..
    } = usage;
    let counts = [
        ("in", input),
        ("out", output),
        ("total", total),
        ("cache read", cache_read),
        ("cache write", cache_write),
        ("reasoning", reasoning),
    ];
    let said: Vec<String> = counts
        .into_iter()
        .filter_map(|(label, count)| count.map(|count| format!("{label} {count}")))
        .collect();
    (!said.is_empty()).then(|| said.join(", "))
}

fn money(cost: &Cost) -> Option<String> {
    let Cost { total, input, output, .. } = cost;
    let said: Vec<String> = [("total", total), ("in", input), ("out", output)]
        .into_iter()
        .filter_map(|(label, amount)| amount.map(|amount| format!("{label} {amount}")))
        .collect();
    (!said.is_empty()).then(|| said.join(", "))
}

fn tool_use(tool: &ToolUse) -> String {
    let ToolUse {
        name,
        call_id,
        arguments,
        result,
        description,
        parameters,
        mcp_server,
        ..
    } = tool;
    let mut out = name.clone().unwrap_or_else(|| "without a name".to_owned());
    if let Some(id) = call_id {
        out += &format!(" #{id}");
    }
    if let Some(arguments) = arguments {
        out += &format!(" {}", value(arguments));
    }
    if let Some(result) = result {
        out += &format!(" -> {}", value(result));
    }
    if let Some(server) = mcp_server {
        out += &format!(" of {server}");
    }
    if description.is_some() || parameters.is_some() {
        out += " (described)";
    }
    out
}
