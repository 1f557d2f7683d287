//! Splits rows: into one row per turn of a model, or a prompt and its completion.

use super::document::{ChatMessage, Mark, Row};
use crate::document::choice::Options;
use crate::document::loss::{Loss, LossReason};
use crate::formats::format::Assembled;

/// A row for each turn of a model: the messages before it, and the turn.
pub(super) fn turns<'a>(whole: Assembled<Row<'a>>, options: &Options) -> Vec<Assembled<Row<'a>>> {
    let Assembled { document: row, losses } = whole;
    let (mut losses, mut rows) = (Some(losses), Vec::new());
    let mut history: Vec<ChatMessage<'a>> = Vec::with_capacity(row.messages.len());
    for message in row.messages {
        let is_target = message.role == "assistant" && !message.is_marked();
        history.push(message);
        if is_target {
            let (messages, tools, origin) = (history.clone(), row.tools.clone(), row.origin.clone());
            rows.push(Assembled {
                document: Row {
                    messages,
                    tools,
                    origin,
                    ..Row::default()
                },
                losses: losses.take().unwrap_or_default(),
            });
        }
        // In later rows it is no longer a target.
        if let Some(last) = history.last_mut().filter(|_| is_target) {
            last.mark(Mark::of(options));
        }
    }
    rows
}

/// Separates the last message from those before it.
pub(super) fn split(row: &mut Assembled<Row<'_>>) {
    let Assembled { document: row, losses } = row;
    if row.messages.len() < 2 {
        losses.push(Loss::new(None, "a row of one message has no prompt", LossReason::Ambiguous));
        return;
    }
    row.completion.extend(row.messages.pop());
    row.prompt = std::mem::take(&mut row.messages);
}
