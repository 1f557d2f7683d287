//! What calls about a conversation ask for: a title, suggested next questions, a summary for later.

/// Maximum number of bytes of an instruction examined.
pub(super) const MAX_INSTRUCTION_LEN: usize = 2000;

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

/// The output of such a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Makes {
    /// A title or suggested questions.
    Label,
    /// A summary or tags. Many programs answer with one, so it must be about a conversation.
    Digest,
}

/// What an instruction asks for, if that concerns a conversation.
pub(super) fn makes(instruction: &str) -> Option<Makes> {
    let end = instruction.floor_char_boundary(MAX_INSTRUCTION_LEN);
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
