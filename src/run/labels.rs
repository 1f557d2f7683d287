//! What instructions of calls about a conversation ask for: a title, possible next questions, a summary for later.

/// So many bytes of an instruction are looked at.
pub(super) const LOOKED_AT: usize = 2000;

/// Names that programs use for the conversation.
const TALK: [&str; 8] = [
    "conversation",
    "chat",
    "dialog",
    "discussion",
    "exchange",
    "thread",
    "messages",
    "session",
];

/// What such a call makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Makes {
    /// A title, or questions that may follow.
    Label,
    /// A summary, or tags: many programs answer with one, so it must be one of a talk.
    Digest,
}

/// What an instruction asks for, if it is something about a talk.
pub(super) fn makes(instruction: &str) -> Option<Makes> {
    let end = instruction.floor_char_boundary(LOOKED_AT);
    let instruction = instruction.get(..end).unwrap_or_default().to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| instruction.contains(word));
    let follows = has(&["follow-up", "follow up", "followup", "suggest"]) && instruction.contains("question");
    let names = has(&["name this", "name the", "names chats", "names the", "short name"]) && has(&TALK);
    if has(&["title", "headline"]) || names || follows {
        Some(Makes::Label)
    } else if has(&["summar", " tags"]) && has(&TALK) {
        Some(Makes::Digest)
    } else {
        None
    }
}
