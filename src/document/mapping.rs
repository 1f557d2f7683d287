//! The mapping on a format's page, generated from its tables: the operation's fields that each field is read from.

use std::fmt::Write as _;

use super::shape::{Record, Shape, Tag};
use super::source::{Otherwise, Part, Source};

/// A Markdown table with a line for each record with sources; empty if there are none.
pub(crate) fn of(shape: Shape) -> String {
    let mut mapping = Mapping::default();
    mapping.shape(shape, None);
    match mapping.lines.as_str() {
        "" => String::new(),
        lines => format!("| record | field ← field of the operation |\n|---|---|\n{lines}"),
    }
}

#[derive(Default)]
struct Mapping {
    lines: String,
    seen: Vec<*const Record>,
}

impl Mapping {
    fn shape(&mut self, shape: Shape, tag: Option<Tag>) {
        match shape {
            Shape::List(shape) | Shape::MapOf(shape) | Shape::Maybe(shape) | Shape::Deferred(_, shape) => self.shape(*shape, tag),
            Shape::Either(shapes) => shapes.iter().for_each(|shape| self.shape(*shape, tag)),
            Shape::Of(record) | Shape::Open(record) => self.record(record, tag),
            Shape::OneOf(variants) => {
                self.record(&variants.common, None);
                variants.of.iter().for_each(|(tag, record)| self.record(record, Some(*tag)));
            }
            _ => {}
        }
    }

    fn record(&mut self, record: &'static Record, tag: Option<Tag>) {
        if self.seen.contains(&std::ptr::from_ref(record)) {
            return;
        }
        self.seen.push(record);
        let sources = record.fields.iter().filter(|field| field.sources.iter().any(Option::is_some));
        let fields = sources.map(|field| {
            let sources = field.sources.iter().flatten().map(|source| words(*source));
            let otherwise = field.otherwise.shown().into_iter();
            let from: Vec<String> = sources.chain(otherwise).collect();
            format!("`{}` ← {}", field.name, from.join(", else "))
        });
        let fields: Vec<String> = fields.collect();
        if !fields.is_empty() {
            let name = match tag {
                Some(Tag::Is(_, words)) => format!("`{}`", words.join("`, `")),
                _ => record.what.to_owned(),
            };
            let _ = writeln!(self.lines, "| {name} | {} |", fields.join("; "));
        }
        record.fields.iter().for_each(|field| self.shape(field.shape, None));
    }
}

fn words(source: Source) -> String {
    match source {
        Source::Field(field) => field.word().to_owned(),
        Source::Sum(one, other) => format!("{} + {}", one.word(), other.word()),
        Source::Less(whole, part) => format!("{} - {}", whole.word(), part.word()),
        Source::Of(part) => part.words().to_owned(),
    }
}

impl Part {
    fn words(self) -> &'static str {
        match self {
            Self::Model => "the model that answered or was asked",
            Self::ToolName => "the tool's name",
            Self::Result => "the tool's result",
            Self::Input => "the input",
            Self::Output => "the output",
            Self::Latency => "its duration in milliseconds",
            Self::Error => "the failure in words",
        }
    }
}

impl Otherwise {
    fn shown(self) -> Option<String> {
        Some(match self {
            Self::Nothing | Self::Null => return None,
            Self::Text(text) => format!("`{text:?}`"),
            Self::Unknown => format!("`{:?}`", Self::UNKNOWN),
            Self::Zero => "`0`".to_owned(),
            Self::EmptyList => "`[]`".to_owned(),
            Self::EmptyObject => "`{}`".to_owned(),
        })
    }
}
