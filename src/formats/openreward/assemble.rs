//! Converts runs to blocks.

use serde_json::Value;

use super::facts;
use super::list::List;
use super::plan::{Item, Plan};
use super::words::words;
use super::write::BlockWriter;
use crate::blocks::document::Document;
use crate::blocks::limits::Limits;
use crate::document::choice::Options;
use crate::document::json::Text;
use crate::document::loss::{Loss, LossReason};
use crate::formats::format::Assembled;
use crate::operation::Message;
use crate::run::{EntryKind, Run};

/// One document per run; a single one if each conversation continues the previous one.
pub(super) fn assemble<'a>(runs: &'a [Run], options: &Options) -> Vec<Assembled<Document<'a>>> {
    let limits = Limits::from_options(options);
    let inline = options.is("openreward.subagents", "inline");
    let runs: Vec<&'a Run> = runs.iter().filter(|run| run.has_agent_work()).collect();
    let plans: Vec<Plan<'a>> = runs.iter().map(|run| Plan::of(run)).collect();
    let pairs: Vec<(&'a Run, &Plan<'a>)> = runs.iter().copied().zip(&plans).collect();
    let groups: Vec<Vec<(&'a Run, &Plan<'a>, usize)>> = match chained(&plans) {
        Some(skips) => vec![pairs.into_iter().zip(skips).map(|((run, plan), skip)| (run, plan, skip)).collect()],
        None => pairs.into_iter().map(|(run, plan)| vec![(run, plan, 0)]).collect(),
    };
    groups.into_iter().filter_map(|group| document(&group, limits, inline)).collect()
}

fn document<'a>(group: &[(&'a Run, &Plan<'a>, usize)], limits: Limits, inline: bool) -> Option<Assembled<Document<'a>>> {
    let trace = group.first().map(|(run, ..)| format!("tr_{}", run.trace_id)).unwrap_or_default();
    let mut list = List::new(trace.into());
    let mut losses = Vec::new();
    for (run, plan, skip) in group {
        let mut writer = BlockWriter::new(run, plan, limits, inline);
        writer.write(&mut list, *skip);
        losses.append(&mut writer.losses);
        // Blocks are immutable, so facts that are only known at the end go to the last one.
        let last = list.of_run().last().map(|(place, _)| place);
        match last.filter(|_| run.ended_at.is_some()).and_then(|last| list.block(last)) {
            Some(block) => block.annotate("run", facts::run(run)),
            None if last.is_some() => losses.push(Loss::new(
                None,
                "the run: it has not ended; its last block will have it",
                LossReason::NoPlace,
            )),
            None => losses.push(Loss::new(None, "the run: no block to write it on", LossReason::NoPlace)),
        }
    }
    // The format's rules reject an empty list.
    (!list.drafts.is_empty()).then(|| Assembled {
        document: Document {
            blocks: list.finish(),
            wrapped: false,
        },
        losses,
    })
}

/// For each run, how many items repeat the previous run; `None` unless each conversation continues the previous one.
fn chained(plans: &[Plan<'_>]) -> Option<Vec<usize>> {
    if plans.len() < 2 {
        return None;
    }
    let mut skips = Vec::with_capacity(plans.len());
    let mut before: Vec<EntrySignature<'_>> = Vec::new();
    for plan in plans {
        let [scope] = plan.top.as_slice() else { return None };
        let signatures: Vec<EntrySignature<'_>> = plan.streams.get(*scope)?.iter().filter_map(signature).collect();
        // Lone items in between would be skipped, too.
        if !signatures.starts_with(&before) || signatures.len() == before.len() {
            return None;
        }
        let skip = plan
            .streams
            .get(*scope)?
            .iter()
            .take(before.len())
            .all(|item| matches!(item, Item::Entry { .. }))
            .then_some(before.len())?;
        skips.push(skip);
        before = signatures;
    }
    Some(skips)
}

/// Entries of two runs are the same if their signatures are equal.
#[derive(Debug, PartialEq)]
enum EntrySignature<'a> {
    Message(&'a str, Text<'a>, Vec<(&'a str, Option<&'a Value>)>),
    Call,
    Result,
}

fn signature<'a>(item: &Item<'a>) -> Option<EntrySignature<'a>> {
    let message = |message: &'a Message| {
        let calls = message
            .tool_calls
            .iter()
            .map(|call| (call.name.as_str(), call.arguments.as_ref().filter(|arguments| !arguments.is_null())))
            .collect();
        EntrySignature::Message(message.role.name(), words(message).text.trim().to_owned().into(), calls)
    };
    match item {
        Item::Entry { entry, .. } => Some(match &entry.kind {
            EntryKind::Message(chat_message) | EntryKind::Turn(chat_message) => message(chat_message),
            EntryKind::Call(_) => EntrySignature::Call,
            EntryKind::Result(_) => EntrySignature::Result,
        }),
        Item::Pair(_) | Item::Words { .. } => None,
    }
}
