//! The types of an operation's fields, each with how its value is read, written and filled.

use serde_json::{Map, Value};

use super::document::Document;
use super::evaluation::Evaluation;
use super::message::Message;
use super::messages::Messages;
use super::rare::{Rare, Sparse};
use super::recorded::{Form, Recorded};
use super::tool_definition::ToolDefinition;

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum FieldValue<'a> {
    /// Text.
    Text(&'a str),
    /// A count.
    Count(u64),
    /// An integer.
    Integer(i64),
    /// A number.
    Number(f64),
    /// A truth value.
    Flag(bool),
    /// Several texts.
    Texts(&'a [String]),
    /// Any JSON value.
    Value(&'a Value),
    /// A JSON object.
    Map(&'a Map<String, Value>),
    /// Unparsed JSON text.
    JsonText(&'a str),
    /// Messages.
    Messages(&'a [Message]),
    /// Documents found by a search.
    Documents(&'a [Document]),
    /// Tools offered to a model.
    Tools(&'a [ToolDefinition]),
    /// Judgements.
    Evaluations(&'a [Evaluation]),
}

/// The direction of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Content {
    /// Input of the operation.
    Input,
    /// Output of the operation.
    Output,
}

/// A type of fields.
pub(super) trait FieldType {
    /// The value; `None` if not recorded.
    fn value(&self) -> Option<FieldValue<'_>>;

    /// The field, for writing.
    fn slot(&mut self) -> Slot<'_>;

    /// Fills missing values from another one.
    fn fill(&mut self, other: Self);
}

macro_rules! field_types {
    ($($(#[$doc:meta])* $name:ident($type:ty) = |$field:ident| $value:expr, $fill:expr;)*) => {
        /// A field of an operation, for writing.
        #[derive(Debug)]
        #[non_exhaustive]
        pub enum Slot<'a> { $($(#[$doc])* $name(&'a mut $type),)* }

        $(impl FieldType for $type {
            #[inline]
            fn value(&self) -> Option<FieldValue<'_>> {
                let $field = self;
                $value
            }

            #[inline]
            fn slot(&mut self) -> Slot<'_> {
                Slot::$name(self)
            }

            #[inline]
            fn fill(&mut self, other: Self) {
                $fill(self, other);
            }
        })*
    };
}

field_types! {
    /// Text.
    Text(Option<String>) = |text| text.as_deref().map(FieldValue::Text), fill_option;
    /// A count.
    Count(Option<u64>) = |count| count.map(FieldValue::Count), fill_option;
    /// An integer.
    Integer(Option<i64>) = |number| number.map(FieldValue::Integer), fill_option;
    /// A number.
    Number(Option<f64>) = |number| number.map(FieldValue::Number), fill_option;
    /// A truth value.
    Flag(Option<bool>) = |flag| flag.map(FieldValue::Flag), fill_option;
    /// Any JSON value.
    Value(Option<Value>) = |value| value.as_ref().map(FieldValue::Value), fill_option;
    /// Several texts.
    Texts(Vec<String>) = |list| filled(list).map(FieldValue::Texts), fill_list;
    /// A JSON object; objects are merged.
    Map(Map<String, Value>) = |map| (!map.is_empty()).then_some(FieldValue::Map(map)), fill_map;
    /// A whole input or output, as recorded.
    Recorded(Recorded) = |whole| recorded(whole), fill_recorded;
    /// The input of a model.
    Conversation(Option<Messages>) = |list| list.as_deref().map(FieldValue::Messages), fill_option;
    /// The output of a model.
    Messages(Option<Vec<Message>>) = |list| list.as_deref().map(FieldValue::Messages), fill_option;
    /// Documents found by a search.
    Documents(Option<Vec<Document>>) = |list| list.as_deref().map(FieldValue::Documents), fill_option;
    /// Tools offered to a model.
    Tools(Vec<ToolDefinition>) = |list| filled(list).map(FieldValue::Tools), fill_list;
    /// Judgements.
    Evaluations(Vec<Evaluation>) = |list| filled(list).map(FieldValue::Evaluations), Evaluation::add;
}

fn filled<T>(items: &[T]) -> Option<&[T]> {
    (!items.is_empty()).then_some(items)
}

fn recorded(recorded: &Recorded) -> Option<FieldValue<'_>> {
    Some(match recorded.form()? {
        Form::Value(value) => FieldValue::Value(value),
        Form::Text(text) => FieldValue::JsonText(text),
    })
}

fn fill_option<T>(slot: &mut Option<T>, other: Option<T>) {
    if slot.is_none() {
        *slot = other;
    }
}

fn fill_list<T>(list: &mut Vec<T>, other: Vec<T>) {
    if list.is_empty() {
        *list = other;
    }
}

fn fill_map(map: &mut Map<String, Value>, other: Map<String, Value>) {
    for (name, value) in other {
        let _ = map.entry(name).or_insert(value);
    }
}

fn fill_recorded(recorded: &mut Recorded, other: Recorded) {
    if recorded.is_none() {
        *recorded = other;
    }
}

/// Related facts of an operation, accessible by member name.
pub(crate) trait Group: Sized {
    /// The names in order.
    const NAMES: &'static [&'static str];

    /// Passes each fact that is present to `tell`, in order.
    fn each<'a>(&'a self, tell: impl FnMut(&'static str, FieldValue<'a>));

    /// The member with this name, for writing.
    fn slot(&mut self, name: &str) -> Option<Slot<'_>>;

    /// Fills missing values from another one.
    fn fill(&mut self, other: Self);
}

/// How an operation stores a group: inline, or only if it has a fact.
pub(super) trait Held {
    /// The group.
    type Group;

    /// The facts, if any.
    fn held(&self) -> Option<&Self::Group>;

    /// The facts, for writing.
    fn held_mut(&mut self) -> &mut Self::Group;

    /// Fills missing values from another one.
    fn fill(&mut self, other: Self);
}

impl<T: Group> Held for T {
    type Group = T;

    #[inline]
    fn held(&self) -> Option<&T> {
        Some(self)
    }

    #[inline]
    fn held_mut(&mut self) -> &mut T {
        self
    }

    fn fill(&mut self, other: Self) {
        Group::fill(self, other);
    }
}

impl<T: Group + Default> Held for Option<Box<T>> {
    type Group = T;

    #[inline]
    fn held(&self) -> Option<&T> {
        self.as_deref()
    }

    #[inline]
    fn held_mut(&mut self) -> &mut T {
        self.get_or_insert_default()
    }

    fn fill(&mut self, other: Self) {
        match (self, other) {
            (Some(have), Some(more)) => Group::fill(&mut **have, *more),
            (slot, more) => fill_option(slot, more),
        }
    }
}

impl<T: Group + Sparse> Held for Rare<T> {
    type Group = T;

    #[inline]
    fn held(&self) -> Option<&T> {
        self.get()
    }

    #[inline]
    fn held_mut(&mut self) -> &mut T {
        self
    }

    fn fill(&mut self, other: Self) {
        if let Some(other) = other.into_inner() {
            Group::fill(&mut **self, other);
        }
    }
}

/// Whether a JSON value is null, or an empty list or object.
pub(crate) fn has_nothing(value: &serde_json::Value) -> bool {
    match value {
        serde_json::Value::Null => true,
        serde_json::Value::Array(items) => items.is_empty(),
        serde_json::Value::Object(members) => members.is_empty(),
        _ => false,
    }
}
