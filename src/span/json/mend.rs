//! Repairs messages that single items make unreadable: half a surrogate pair, bytes that are not UTF-8, an item that nests too deeply or
//! has a value of the wrong type. The other items can then be read.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::fields::{RecordText, SpanText};
use super::read::parse;
use crate::span::ContentFault;

/// A message after its repair.
#[derive(Debug)]
pub struct Mended {
    /// The message. Unreadable items are marked, so that reading it refuses them.
    pub text: Vec<u8>,
    /// How many pieces of invalid text became the replacement character.
    pub replaced: usize,
}

/// Copies the message, replacing invalid text and marking unreadable items; `None` if nothing had to change.
#[must_use]
pub fn mend(bytes: &[u8]) -> Option<Mended> {
    let (mut text, invalid) = valid(bytes);
    let halves = halves(text.as_bytes());
    if !halves.is_empty() {
        let mut whole = text.into_owned().into_bytes();
        for at in &halves {
            put(&mut whole, *at, br"\ufffd");
        }
        // ASCII escapes replaced other ASCII escapes, so this is still UTF-8.
        text = Cow::Owned(String::from_utf8(whole).unwrap_or_default());
    }
    let replaced = invalid + halves.len();
    let marks = unreadable(&text);
    if replaced == 0 && marks.is_empty() {
        return None;
    }
    let mut text = text.into_owned().into_bytes();
    for (at, length, fault) in marks {
        let place = text.get_mut(at..at + length).unwrap_or_default();
        place.fill(b' ');
        put(&mut text, at, SpanText::mark(fault).as_bytes());
    }
    Some(Mended { text, replaced })
}

fn put(text: &mut [u8], at: usize, other: &[u8]) {
    text.iter_mut().skip(at).zip(other).for_each(|(byte, other)| *byte = *other);
}

/// The text, and the number of places that were not UTF-8.
fn valid(bytes: &[u8]) -> (Cow<'_, str>, usize) {
    let invalid = bytes.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count();
    (String::from_utf8_lossy(bytes), invalid)
}

/// Positions of escaped surrogates without their other half.
fn halves(json: &[u8]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = json.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        at += next;
        match (escaped(json, at), escaped(json, at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => at += 12,
            (Some(0xd800..=0xdfff), _) => {
                found.push(at);
                at += 6;
            }
            _ => at += 2,
        }
    }
    found
}

/// The code unit of the escape `\uXXXX` at this position.
fn escaped(json: &[u8], at: usize) -> Option<u16> {
    let digits = json.get(at..at + 6)?.strip_prefix(br"\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[derive(serde::Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Groups<'a> {
    #[serde(borrow, alias = "batches")]
    resource_spans: Option<Vec<OfResource<'a>>>,
    #[serde(borrow)]
    resource_logs: Option<Vec<OfResource<'a>>>,
}

#[derive(serde::Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct OfResource<'a> {
    #[serde(borrow, alias = "instrumentationLibrarySpans")]
    scope_spans: Option<Vec<OfScope<'a>>>,
    #[serde(borrow, alias = "instrumentationLibraryLogs")]
    scope_logs: Option<Vec<OfScope<'a>>>,
}

#[derive(serde::Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct OfScope<'a> {
    #[serde(borrow)]
    spans: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    log_records: Option<Vec<&'a RawValue>>,
}

/// The position, length and fault of each unreadable item, if others are readable.
fn unreadable(text: &str) -> Vec<(usize, usize, ContentFault)> {
    let Ok(groups) = serde_json::from_str::<Groups<'_>>(text) else {
        return Vec::new();
    };
    let (mut marks, mut items) = (Vec::new(), 0);
    for resource in groups
        .resource_spans
        .into_iter()
        .flatten()
        .chain(groups.resource_logs.into_iter().flatten())
    {
        for scope in resource.scope_spans.into_iter().chain(resource.scope_logs).flatten() {
            for item in scope.spans.into_iter().flatten() {
                items += 1;
                marks.extend(mark::<SpanText>(text, item));
            }
            for item in scope.log_records.into_iter().flatten() {
                items += 1;
                marks.extend(mark::<RecordText>(text, item));
            }
        }
    }
    // If no item is readable, this is not a message of items at all.
    if marks.len() == items { Vec::new() } else { marks }
}

fn mark<T: DeserializeOwned>(text: &str, item: &RawValue) -> Option<(usize, usize, ContentFault)> {
    let json = item.get();
    let fault = match parse::<T>(json.as_bytes()) {
        Ok(_) => return None,
        Err(error) if error.is_syntax() && error.to_string().starts_with("recursion limit") => ContentFault::Depth,
        Err(_) => ContentFault::Value,
    };
    let at = json.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    (json.len() >= SpanText::mark(fault).len()).then_some((at, json.len(), fault))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]
mod tests {
    use super::*;
    use crate::span::RefusedReason;
    use crate::span::json::traces;

    fn message(spans: &[String]) -> String {
        format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{}]}}]}}]}}"#, spans.join(","))
    }

    fn span(id: u8, more: &str) -> String {
        format!(r#"{{"traceId":"{:032x}","spanId":"{id:016x}"{more}}}"#, 7)
    }

    #[test]
    fn half_a_pair_becomes_the_replacement_character() {
        let text = message(&[span(1, r#","name":"a \ude00 \ud83d\ude00 \\ud83d \ud83d""#)]);
        let mended = mend(text.as_bytes()).unwrap();
        assert_eq!(mended.replaced, 2);
        let read = traces(&mended.text).unwrap();
        assert_eq!(read.items[0].name, "a \u{fffd} \u{1f600} \\ud83d \u{fffd}");
        let mut bytes = message(&[span(1, r#","name":"a ?""#)]).into_bytes();
        let at = bytes.iter().position(|byte| *byte == b'?').unwrap();
        bytes[at] = 0xff;
        let mended = mend(&bytes).unwrap();
        assert_eq!((mended.replaced, &*traces(&mended.text).unwrap().items[0].name), (1, "a \u{fffd}"));
    }

    #[test]
    fn one_item_that_cannot_be_read_is_refused_alone() {
        let deep = format!(
            r#","attributes":[{{"key":"k","value":{}{{}}{}}}]"#,
            r#"{"arrayValue":{"values":["#.repeat(90),
            "]}}".repeat(90)
        );
        for (more, fault) in [(r#","name":[1]"#.to_owned(), ContentFault::Value), (deep, ContentFault::Depth)] {
            let text = message(&[span(1, ""), span(2, &more), span(3, "")]);
            assert!(traces(text.as_bytes()).is_err());
            let read = traces(&mend(text.as_bytes()).unwrap().text).unwrap();
            assert_eq!(read.items.len(), 2);
            assert_eq!(read.refused[0].reason, RefusedReason::Content(fault));
            assert_eq!(read.refused[0].path.item, 1);
            // Where there is nothing else, the message as a whole is wrong.
            assert!(mend(message(&[span(2, &more)]).as_bytes()).is_none());
        }
        assert!(mend(message(&[span(1, "")]).as_bytes()).is_none());
        assert!(mend(b"{\"resourceSpans\":[").is_none());
    }
}
