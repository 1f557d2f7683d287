//! A trace's blocks, as written or built from its spans.

use std::io::Write as _;

use super::super::answer::Answer;
use super::super::cost::{self, Purpose};
use super::super::reply::{Outcome, Problem};
use super::super::request::Asked;
use super::super::service::Web;
use super::super::single::{self, Wanted};
use super::name::Name;
use crate::blocks::document::Document;
use crate::blocks::stitch::stitch;
use crate::documents;
use crate::formats::openreward::{OpenReward, written};
use crate::formats::{Format as _, Layout};
use crate::otlp::decode;
use crate::span::{Span, UnixNanos};
use crate::store::ChunkKind;

/// Spans name no organization: theirs is that of the project whose store they are in.
pub(in crate::web) fn blocks(
    web: &Web,
    (organization, id): (String, String),
    stitched: bool,
    asked: &Asked,
    answer: &mut Answer,
) -> Outcome {
    web.is_of(&organization)?;
    let wanted = Wanted::of(web, asked, false)?;
    let name = Name::of(&id);
    let Some(texts) = texts(web, &name, &wanted, answer)? else {
        return assembled(web, &name, stitched, &wanted, answer);
    };
    answer.check()?;
    if stitched {
        let bytes: usize = texts.iter().map(String::len).sum();
        answer.reserve(bytes.saturating_mul(4).saturating_add(texts.len().saturating_mul(1_000)))?;
        answer.write_all(written::stitched(&texts).as_bytes())?;
        return Ok(());
    }
    for (at, text) in texts.iter().enumerate() {
        answer.write_all(if at == 0 { b"[" } else { b"," })?;
        answer.write_all(text.as_bytes())?;
    }
    Ok(answer.write_all(b"]")?)
}

/// The blocks as written; `None`: the trace was not written as blocks.
fn texts(web: &Web, name: &Name, wanted: &Wanted, answer: &mut Answer) -> Result<Option<Vec<String>>, Problem> {
    let mut found: Vec<(UnixNanos, String)> = Vec::new();
    let damaged = single::within(answer, |reserve| {
        web.store.each_chunk(name.id, &mut |kind, message| {
            if kind != ChunkKind::Spans || memchr::memmem::find(message, written::BLOCK.as_bytes()).is_none() {
                return Ok(());
            }
            reserve(cost::of_chunk(kind, message, Purpose::Spans))?;
            let spans = decode::traces(message).map(|decoded| decoded.items).unwrap_or_default();
            let text = |span: &Span| Some((span.start, written::text_of(span)?.to_owned()));
            found.extend(spans.iter().filter_map(text));
            Ok(())
        })
    })?;
    if found.is_empty() {
        return Ok(None);
    }
    wanted.check(name.id, &damaged)?;
    Ok(Some(written::in_order(found)))
}

/// The blocks built from the spans of a recorded trace.
fn assembled(web: &Web, name: &Name, stitched: bool, wanted: &Wanted, answer: &mut Answer) -> Outcome {
    let built = single::run_of(web, name.id, wanted, answer)?;
    let Some(run) = built.work() else { return Ok(()) };
    // As text: a document that was imported has fields its spans lack.
    let format = single::format_of(OpenReward::ID)?;
    let documents = documents::of_run(run, format, &wanted.options).documents;
    let texts: Vec<String> = documents
        .iter()
        .map(|document| document.text(Layout::Compact))
        .collect::<Result<_, _>>()?;
    drop(documents);
    answer.reserve(texts.iter().map(String::len).sum::<usize>().saturating_mul(4))?;
    let mut blocks = Vec::new();
    for text in &texts {
        let document: Document<'_> = serde_json::from_str(text).map_err(|error| Problem::internal(error.to_string()))?;
        blocks.extend(document.blocks);
    }
    if stitched {
        answer.json(&stitch(&blocks))
    } else {
        answer.json(&blocks)
    }
}
