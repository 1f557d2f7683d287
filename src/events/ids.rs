//! Ids of traces and spans. They derive from ids in the files that stay the same after a resume, a fork or another reading.

use sha2::{Digest as _, Sha256};

use crate::span::{SpanId, TraceId};

/// To be changed if the same files must yield different ids.
const VERSION: &str = "spanbridge/session/1";

fn digest(parts: &[&str]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        // Hash the length too, so that different lists of parts never yield the same bytes.
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().into()
}

/// The trace of the turn that begins with a prompt. `prompt`: an id that is unique among the client's prompts.
pub(crate) fn trace(client: &str, prompt: &str) -> TraceId {
    let digest = digest(&[VERSION, client, prompt]);
    let id = digest.get(..16).and_then(TraceId::from_bytes);
    id.unwrap_or_else(|| trace(client, &format!("{prompt}+")))
}

/// A span of a trace. `kind`: `turn`, `agent`, `call` or `tool`.
pub(crate) fn span(trace: TraceId, kind: &str, own: &str) -> SpanId {
    let digest = digest(&[&trace.to_string(), kind, own]);
    let id = digest.get(..8).and_then(SpanId::from_bytes);
    id.unwrap_or_else(|| span(trace, kind, &format!("{own}+")))
}

/// A short digest of a text, for items without an id.
pub(crate) fn of_text(text: &str) -> String {
    let digest = digest(&[text]);
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
