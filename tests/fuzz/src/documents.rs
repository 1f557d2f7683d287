//! Laws over runs and documents: whole, and the same in any order of arrival.

use std::collections::HashSet;

use serde_json::Value;
use spanbridge::blocks::{limits::Limits, rules};
use spanbridge::documents::Vocabulary;
use spanbridge::formats::{AnyFormat, FORMATS, Layout, Options};
use spanbridge::run::{EntryKind, Run, StepId};
use spanbridge::span::{LogRecord, Span};
use spanbridge::web::listing::Summary;

/// Makes the documents of these spans in every format, and holds the laws over them.
pub fn check(spans: &[Span], logs: &[LogRecord], options: &Options) {
    let first = written(spans.to_vec(), logs.to_vec(), options);
    let (mut spans, mut logs) = (spans.to_vec(), logs.to_vec());
    // Those of one time stay as they came: nothing else tells which of them was first.
    spans.sort_by_key(|span| std::cmp::Reverse((span.start, span.end)));
    logs.sort_by_key(|record| std::cmp::Reverse(record.when()));
    // Repeated spans are the same spans.
    spans.extend(spans.first().cloned());
    logs.extend(logs.first().cloned());
    let second = written(spans, logs, options);
    for (have, want) in second.iter().zip(&first) {
        assert!(have == want, "the order of arrival shows: {}", difference(have, want));
    }
    assert_eq!(first.len(), second.len());
}

/// The places where two texts begin to differ.
fn difference(have: &str, want: &str) -> String {
    let same = have.chars().zip(want.chars()).take_while(|(a, b)| a == b).count();
    let cut = |text: &str| text.chars().skip(same.saturating_sub(300)).take(500).collect::<String>();
    format!("\n{}\n\nand not\n\n{}", cut(have), cut(want))
}

/// Everything that is written of these spans.
fn written(spans: Vec<Span>, logs: Vec<LogRecord>, options: &Options) -> Vec<String> {
    let mut runs = Vocabulary::built_in().runs(spans, logs);
    // By trace: runs that begin at one time come in the order of their ids.
    runs.sort_by_key(|run| run.trace_id);
    let mut out = Vec::new();
    for run in &runs {
        whole(run);
        out.push(format!("{:?}", run.findings));
        out.push(format!("{:?}", Summary::of(run)));
        let one = std::slice::from_ref(run);
        for format in FORMATS {
            write(format, one, options, &mut out);
        }
    }
    let working: Vec<Run> = runs.into_iter().filter(Run::has_agent_work).collect();
    if working.len() > 1 {
        for format in FORMATS {
            let assembled = format.assemble(&working, options, Layout::Compact);
            out.extend(assembled.into_iter().map(|assembled| assembled.document));
        }
    }
    out
}

/// Every index of a run is one, and what its documentation promises holds.
fn whole(run: &Run) {
    let steps = run.steps.len();
    let is_step = |id: Option<StepId>| id.is_none_or(|id| id.index() < steps);
    assert!(is_step(run.root));
    assert!(run.scopes.is_empty() == run.steps.is_empty());
    let mut ids = HashSet::new();
    for (at, step) in run.steps.enumerate() {
        assert!(ids.insert(&step.id), "two steps with the id {}", step.id);
        assert!(step.parent.is_none_or(|parent| parent < at), "a parent stands behind its child");
        assert!(step.scope.index() < run.scopes.len());
        assert!(step.ended_at.is_none_or(|end| end >= step.started_at));
        assert!(is_step(step.dispatched_by) && is_step(step.inside_tool) && is_step(step.called_by));
    }
    for (at, scope) in run.scopes.enumerate() {
        assert!(scope.parent.is_none_or(|parent| parent < at), "a scope stands behind one inside it");
        assert!(is_step(scope.step) && is_step(scope.called_by));
        for entry in &scope.conversation {
            assert!(is_step(entry.step));
            match &entry.kind {
                EntryKind::Call(call) => assert!(is_step(Some(call.tool))),
                EntryKind::Result(result) => assert!(is_step(result.tool)),
                EntryKind::Message(_) | EntryKind::Turn(_) => {}
            }
        }
    }
    let said = run.question.iter().chain(&run.answer);
    said.for_each(|said| assert!(is_step(Some(said.step))));
}

/// Writes documents: each is JSON, and `OpenReward`'s break no rule.
fn write(format: &AnyFormat, runs: &[Run], options: &Options, out: &mut Vec<String>) {
    for assembled in format.assemble(runs, options, Layout::Compact) {
        let text = assembled.document;
        let document: Value = serde_json::from_str(&text).expect("JSON");
        if format.id == "openreward" && *options == Options::default() {
            let blocks = document.as_array().or_else(|| document.get("blocks")?.as_array());
            let refused = rules::check_all(blocks.expect("blocks"), &Limits::from_options(options));
            assert!(refused.is_empty(), "{refused:?}\n{text}");
        }
        out.push(format!("{} {text} {:?}", format.id, assembled.losses));
    }
}
