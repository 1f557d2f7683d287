//! Messages between people, agents, models and tools.

use maud::{Markup, html};

use super::acts::act;
use super::media;
use super::words::{self, block_of, line, many};
use crate::operation::{Message, Part, Role};
use crate::span::TraceId;
use crate::transcript::{calls, content};

/// Characters from which a message is folded.
const LONG: usize = 1_600;

/// The CSS class of a role; only known roles have one.
fn class(role: &Role) -> &'static str {
    match role {
        Role::System | Role::Developer => "msg system",
        Role::User => "msg user",
        Role::Assistant => "msg assistant",
        Role::Tool => "msg tool",
        Role::Other(_) => "msg",
    }
}

/// A message. `most`: maximum bytes of its text. `trace`: on a server, the trace its pictures are served from.
pub(crate) fn message(message: &Message, most: usize, trace: Option<TraceId>) -> Markup {
    html! {
        div class=(class(&message.role)) {
            div.who {
                (line(message.role.name(), 24))
                @if let Some(name) = &message.name { small { (line(name, 40)) } }
            }
            div {
                @for part in &message.parts {
                    @match part {
                        Part::Text(text) => @if !text.trim().is_empty() { (words_of("txt", text, most)) },
                        Part::Reasoning { text: Some(text), .. } => @if !text.trim().is_empty() { (words_of("txt dim thought", text, most)) },
                        Part::Reasoning { text: None, opaque } => @if !opaque.is_empty() { div.txt.dim { "[reasoning without words]" } },
                        Part::Media(media) => (media::view(media, trace)),
                        Part::Other(value) => div.txt.dim { (line(&content::part_mark(value), 200)) },
                    }
                }
                @if let Some(result) = &message.result { (words_of("txt", &content::text(result), most)) }
                @for call in &message.tool_calls {
                    div.call.mono {
                        span.faint { "calls" } " " b { (line(&call.name, 80)) } " "
                        @match call.arguments.as_ref().and_then(act) {
                            Some(done) => (done),
                            None => (words_of("args", &calls::arguments_json(call), most)),
                        }
                    }
                }
            }
        }
    }
}

/// Text in full up to a length; longer text is folded.
pub(crate) fn words_of(class: &str, text: &str, most: usize) -> Markup {
    let (shown, of) = words::beginning(text, most);
    if of.is_none() && shown.len() <= LONG {
        return html! { div class=(class) { (shown) } };
    }
    html! {
        details.long {
            summary { span.first { span class=(class) { (block_of(&shown, LONG.min(400))) "…" } span.faint { " show " (match of { Some(of) => format!("the first {} of {}", words::bytes(most), words::bytes(of)), None => format!("all {}", many(shown.chars().count(), "character")) }) } } span.less.faint { "Fold" } }
            div class=(class) { (shown) }
        }
    }
}
