//! An agent's operation in one span, independent of any dialect.
//!
//! ```
//! use spanbridge::operation::{Kind, Message, Operation, Role};
//!
//! let answer = Message::text(Role::Assistant, "18 C");
//! let call = Operation { kind: Kind::Llm, output_messages: Some(vec![answer]), ..Operation::default() };
//! assert_eq!(call.kind, Kind::Llm);
//! // None: the span has no input.
//! assert!(call.input_messages.is_none());
//! ```

pub mod document;
mod evaluation;
mod failure;
mod fields;
mod kind;
pub mod message;
pub mod messages;
mod named;
pub mod rare;
pub mod recorded;
mod table;
pub mod tool_call_id;
mod tool_definition;
mod value;

pub use document::Document;
pub use evaluation::Evaluation;
pub use failure::Failure;
pub use fields::{
    Agent, ContentType, Cost, Field, Interrupt, Memory, Model, Operation, Prompt, ResourceImpact, Search, StateChange, Task, TokenCount,
    ToolUse, Training,
};
pub use kind::Kind;
pub use message::{Message, Part, Role, ToolCall, arguments_text};
pub use messages::Messages;
pub(crate) use named::named;
pub use rare::Rare;
pub use recorded::{Form, Recorded};
pub use tool_call_id::ToolCallId;
pub(crate) use tool_call_id::is_counter;
pub use tool_definition::ToolDefinition;
pub use value::{Content, FieldValue, Slot};
pub(crate) use value::{Group, has_nothing};
