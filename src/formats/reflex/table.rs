//! The records of a trace, as in the published schema.

use crate::document::records::records;
use crate::document::shape::Shape::{self, Any, Count, Deferred, Flag, Int, List, Maybe, Number, Object, Of, Open, Text, Word};
use crate::document::source::Otherwise::{Null, Zero};
use crate::document::source::Part;
use crate::operation::Field as F;

pub(super) const DOCUMENT: Shape = Of(&TRACE);

/// Kinds of nodes; the last stands for all others.
pub(super) const KINDS: [&str; 5] = ["reason", "tool", "retrieve", "agent", "other"];

records! {
    TRACE "a trace", only "the published schema refuses it (readers count `tokens` themselves); leave it out" {
        need nodes: List(&Deferred(&Object, &Of(&NODE)));
        may ideal: Maybe(&Text), usually(Null);
        may metadata: Object;
    }
    NODE "a node", only "the published schema refuses it; put it into `metadata`" {
        need name: Text;
        may input: Any, usually(Null);
        may output: Any, usually(Null);
        may id: Text;
        may parent_id: Maybe(&Text), usually(Null);
        may kind: Word(&KINDS);
        may prompt_id: Maybe(&Text), from(F::PromptId).usually(Null);
        may step: Maybe(&Int), from(F::Step).usually(Null);
        may optimize: Flag;
        may tokens: Count, usually(Zero);
        may started_at: Maybe(&Number), usually(Null);
        may ended_at: Maybe(&Number), usually(Null);
        may error: Maybe(&Text), of(Part::Error).usually(Null);
        may metadata: Deferred(&Object, &Open(&METADATA));
    }
    METADATA "the metadata of a node" {
        may mcp_server: Text;
        may tool_call_id: Text;
        may error_code: Text;
        may latency_ms: Number;
    }
}
