//! What a document contains but spans cannot represent.
//!
//! The spans of a document carry its meaning. A document written from them in the same format differs from the original in form: a null
//! member, a time that the original lacks, a field that no operation has. Only these differences are stored, as changes in the
//! attribute `spanbridge.<format>` of the root span. Each change has the hash of what it replaces: if a later span or a corrected
//! mapping yields something else there, the change is skipped and reported as a loss.

mod apply;
mod diff;
mod edit;

use serde_json::{Map, Value, json};

use super::note::{Note, NoteKind};
use super::numbers::Numbers;
use crate::document::choice::Options;
use crate::document::loss::{Loss, LossReason};
use crate::run::Run;

const MEMBER: &str = "remainder";

/// The changes of one document.
#[derive(Debug, Clone)]
pub(in crate::formats) struct Remainder(Value);

impl Remainder {
    /// The changes that turn `have` into `want`.
    pub(in crate::formats) fn between(
        mut have: Value,
        want: &Value,
        wrap: Option<&str>,
        options: &[(String, String)],
        numbers: &Numbers,
    ) -> Self {
        let mut out = Map::new();
        if let Some(key) = wrap {
            out.insert("wrap".to_owned(), key.into());
            have = json!({ key: have });
        }
        if !options.is_empty() {
            let options: Map<String, Value> = options.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
            out.insert("options".to_owned(), options.into());
        }
        let edits = diff::diff(&have, want);
        if !edits.is_empty() {
            out.insert("edits".to_owned(), edits.into());
        }
        let numbers = numbers.to_json();
        if !numbers.is_empty() {
            out.insert("numbers".to_owned(), numbers.into());
        }
        Self(out.into())
    }

    pub(in crate::formats) fn is_empty(&self) -> bool {
        self.0.as_object().is_none_or(Map::is_empty)
    }

    /// The text of the attribute.
    pub(in crate::formats) fn text(&self) -> String {
        json!({ MEMBER: self.0 }).to_string()
    }

    fn edits(&self) -> &[Value] {
        self.0.get("edits").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// A note for each value that only the attribute holds.
    pub(in crate::formats) fn notes(&self) -> impl Iterator<Item = Note> {
        let values = self.edits().iter().filter(|edit| edit.get("is").is_some());
        let detail = "spans have no place for this; an attribute of the root span keeps it";
        let at = |edit: &'_ Value| edit.get("at").and_then(Value::as_str).unwrap_or_default().to_owned();
        values.map(move |edit| Note::new(at(edit), NoteKind::Beside, detail))
    }

    /// The digits of large integers.
    pub(in crate::formats) fn numbers(&self) -> Numbers {
        self.0.get("numbers").map(Numbers::from_json).unwrap_or_default()
    }

    /// The caller's options; where the caller gives none, those that the document's form requires.
    pub(in crate::formats) fn options(&self, given: &Options) -> Options {
        let asked = self.0.get("options").and_then(Value::as_object).into_iter().flatten();
        let asked = asked.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        Options::of(asked).unwrap_or_default().with(given.clone())
    }

    /// Restores the document; a change that does not fit becomes a loss.
    pub(in crate::formats) fn apply(&self, document: &mut Value, losses: &mut Vec<Loss>) {
        if let Some(key) = self.0.get("wrap").and_then(Value::as_str) {
            *document = json!({ key: std::mem::take(document) });
        }
        for place in apply::apply(document, self.edits()) {
            losses.push(Loss::new(None, format!("document as imported: {place}"), LossReason::NoPlace));
        }
    }
}

/// Whether a run was read from a document.
pub(in crate::formats) fn is_in(runs: &[Run]) -> bool {
    let mut extras = runs.iter().flat_map(|run| &run.steps).map(|step| &step.operation.format_extras);
    extras.any(|extras| extras.values().any(|extra| extra.get(MEMBER).is_some()))
}

/// Where documents store their own id, by format.
#[cfg(feature = "server")]
const OWN_ID_POINTERS: &[(&str, &[&str])] = &[
    ("contextforge", &["/run_id"]),
    ("openreward", &["/0/trace_id", "/blocks/0/trace_id"]),
    ("synth", &["/session_id"]),
    ("reflex", &["/trace_id", "/id"]),
    ("atif", &["/trajectory_id", "/session_id"]),
    ("invariant", &["/id", "/metadata/id"]),
];

/// The own id of the document that a run was read from, unless it is a trace id.
#[cfg(feature = "server")]
pub(crate) fn name_of(run: &Run) -> Option<&str> {
    let extras = run.steps.iter().flat_map(|step| &step.operation.format_extras);
    for (format, extra) in extras {
        let Some((_, places)) = OWN_ID_POINTERS.iter().find(|(known, _)| known == format) else {
            continue;
        };
        let edits = extra.pointer(&format!("/{MEMBER}/edits")).and_then(Value::as_array);
        for edit in edits.into_iter().flatten() {
            let at = edit.get("at").and_then(Value::as_str);
            if let Some(name) = edit
                .get("is")
                .and_then(Value::as_str)
                .filter(|_| at.is_some_and(|at| places.contains(&at)))
            {
                return Some(name);
            }
        }
    }
    None
}

/// Takes the remainders out of a run: returns this format's, collects the digits of all, and adds a loss for anything else in others.
pub(in crate::formats) fn take(run: &mut Run, format: &str, numbers: &mut Numbers, losses: &mut Vec<Loss>) -> Option<Remainder> {
    let mut found = None;
    for step in &mut run.steps {
        let span_id = step.span_id;
        step.operation.format_extras.retain(|name, extra| {
            let Some(remainder) = extra.as_object_mut().and_then(|extra| extra.shift_remove(MEMBER)) else {
                return true;
            };
            let has_only_digits = |map: &Map<String, Value>| map.keys().all(|key| key == "numbers");
            numbers.extend(&remainder.get("numbers").map(Numbers::from_json).unwrap_or_default());
            if name == format {
                found = Some(Remainder(remainder));
            } else if !remainder.as_object().is_some_and(has_only_digits) {
                losses.push(Loss::new(span_id, format!("spanbridge.{name}"), LossReason::NoPlace));
            }
            extra.as_object().is_some_and(|extra| !extra.is_empty())
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::edit::digest;
    use super::*;

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..4).prop_map(Value::from),
            "[a-c/~]{0,2}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::vec(("[a-c/~0]{0,2}", inner), 0..5).prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn changes_make_the_wanted_value(have in values(), want in values()) {
            let remainder = Remainder::between(have.clone(), &want, None, &[], &Numbers::default());
            let mut made = have.clone();
            let mut losses = Vec::new();
            remainder.apply(&mut made, &mut losses);
            prop_assert_eq!(made, want);
            prop_assert!(losses.is_empty());
        }

        /// A change whose place has another value changes nothing, and is reported.
        #[test]
        fn a_change_that_does_not_fit_is_told(have in values(), want in values(), other in values()) {
            for edit in Remainder::between(have.clone(), &want, None, &[], &Numbers::default()).edits() {
                let at = edit.get("at").and_then(Value::as_str).unwrap_or_default();
                let Some(was) = edit.get("was").and_then(Value::as_str) else { continue };
                if other.pointer(at).is_some_and(|value| digest(&value.to_string()) == was) {
                    continue;
                }
                let mut made = other.clone();
                prop_assert_eq!(apply::apply(&mut made, std::slice::from_ref(edit)), vec![at.to_owned()]);
                prop_assert_eq!(&made, &other);
            }
        }
    }

    /// Thousands of changes of the whole document are not hashed thousands of times.
    #[test]
    fn what_changes_hash_has_a_limit() {
        let mut value = json!({ "text": "a".repeat(10_000) });
        let edits = vec![json!({ "at": "", "was": digest(&value.to_string()), "is": value }); 5_000];
        let misfits = apply::apply(&mut value, &edits);
        assert!(misfits.len() >= edits.len() - 3, "{}", misfits.len());
    }
}
