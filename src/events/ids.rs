//! Ids of traces and spans. They derive from ids in the files that a resume, a fork and a second reading keep.

use sha2::{Digest as _, Sha256};

use crate::span::{SpanId, TraceId};

/// Changes when the same files must give other ids.
const VERSION: &str = "spanbridge/session/1";

fn digest(parts: &[&str]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        // With its length, so that no two lists of parts give the same bytes.
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().into()
}

/// The trace of the turn that begins with a prompt. `prompt`: an id that no other prompt of the client has.
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

/// A short digest of a text, for ids of what has none.
pub(crate) fn of_text(text: &str) -> String {
    let digest = digest(&[text]);
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
