//! Where the values of a record's fields are from: what writing, taking facts out of the metadata, and reading follow.

use crate::operation::Field;

/// Where a value is from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source {
    /// A field of the operation. It is no fact beside the record then.
    Field(Field),
    /// Two counts or amounts, added where both are known. They stay facts.
    Sum(Field, Field),
    /// A count without the part of it that the other field counts. Documents count that beside it.
    Less(Field, Field),
    /// What is worked out of an operation for every format alike.
    Of(Part),
}

/// What is worked out of an operation for every format alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The model that answered, else the one that was asked for.
    Model,
    /// The tool's name, else the one in the call.
    ToolName,
    /// The tool's result, else the one in the messages.
    Result,
    /// What went in.
    Input,
    /// What came out.
    Output,
    /// From start to end, in milliseconds.
    Latency,
    /// Why it failed, in words.
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

/// What is written where no source has a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Otherwise {
    /// The field is left out.
    Nothing,
    Null,
    Text(&'static str),
    /// The name of what has none. Where it is read, nothing has it.
    Unknown,
    Zero,
    EmptyList,
    EmptyObject,
}

impl Otherwise {
    pub(crate) const UNKNOWN: &'static str = "unknown";
}
