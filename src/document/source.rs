//! The sources of a record's fields, used for writing, removing facts from the metadata, and reading.

use crate::operation::Field;

/// The source of a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source {
    /// A field of the operation, which is then not listed as a fact.
    Field(Field),
    /// The sum of two counts or amounts, if both are known. They remain facts.
    Sum(Field, Field),
    /// A count minus the part that the other field counts. Documents record that part separately.
    Less(Field, Field),
    /// A value computed from an operation in the same way for all formats.
    Of(Part),
}

/// A value computed from an operation in the same way for all formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The answering model, else the requested one.
    Model,
    /// The tool's name, else the one in the call.
    ToolName,
    /// The tool's result, else the one in the messages.
    Result,
    /// The input.
    Input,
    /// The output.
    Output,
    /// From start to end, in milliseconds.
    Latency,
    /// The text of its failure.
    Error,
}

impl Source {
    /// The field of an operation that the value is read into.
    pub(crate) fn reads(self) -> Option<Field> {
        match self {
            Self::Field(field) | Self::Less(field, _) => Some(field),
            Self::Of(Part::Model) => Some(Field::ModelResponse),
            Self::Of(Part::ToolName) => Some(Field::ToolName),
            Self::Of(Part::Result) => Some(Field::ToolResult),
            Self::Of(Part::Input) => Some(Field::Input),
            Self::Of(Part::Output) => Some(Field::Output),
            Self::Of(Part::Latency | Part::Error) | Self::Sum(..) => None,
        }
    }
}

/// The default if no source has a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Otherwise {
    /// The field is left out.
    Nothing,
    Null,
    Text(&'static str),
    /// A placeholder for a name, which is read as no name.
    Unknown,
    Zero,
    EmptyList,
    EmptyObject,
}

impl Otherwise {
    pub(crate) const UNKNOWN: &'static str = "unknown";
}
