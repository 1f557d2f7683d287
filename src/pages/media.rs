//! Pictures in messages, served from our own address: their bytes are in the spans, and nothing is loaded from elsewhere.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use maud::{Markup, html};

use super::words::{bytes, line};
use crate::hash::of_text;
use crate::operation::Part;
use crate::operation::message::Media;
use crate::run::Run;
use crate::span::TraceId;
use crate::transcript::content;

/// Maximum bytes of a picture.
const MAX_PICTURE_BYTES: usize = 12 << 20;

/// Magic numbers of picture formats that browsers render and that cannot contain scripts, with offset and type.
const KINDS: [(&[u8], usize, &str); 4] = [
    (b"\x89PNG\r\n\x1a\n", 0, "image/png"),
    (b"\xff\xd8\xff", 0, "image/jpeg"),
    (b"GIF8", 0, "image/gif"),
    (b"WEBP", 8, "image/webp"),
];

/// The base64 text of a picture.
fn encoded(media: &Media) -> Option<&str> {
    let of_url = || {
        media
            .uri
            .as_deref()?
            .strip_prefix("data:")?
            .split_once(";base64,")
            .map(|(_, data)| data)
    };
    media.base64.as_deref().or_else(of_url)
}

fn kind_of(head: &[u8]) -> Option<&'static str> {
    let found = KINDS
        .iter()
        .find(|(magic, at, _)| head.get(*at..).is_some_and(|rest| rest.starts_with(magic)));
    found.map(|(.., kind)| *kind)
}

/// The type of a picture by its first bytes; the declared type is ignored.
fn kind(encoded: &str) -> Option<&'static str> {
    let head = STANDARD.decode(encoded.get(..24)?).ok()?;
    kind_of(&head)
}

/// A picture, or a description of it. `trace`: on a server, the trace it is served from.
pub(crate) fn view(media: &Media, trace: Option<TraceId>) -> Markup {
    let mark = line(&content::media_mark(media), 200);
    let data = trace.zip(encoded(media).filter(|data| kind(data).is_some()));
    html! {
        @match data {
            Some((trace, data)) if data.len() / 4 * 3 <= MAX_PICTURE_BYTES => {
                @let at = format!("/runs/{trace}/media/{:016x}", of_text(data));
                a.picture href=(at) { img src=(at) alt=(mark) loading="lazy"; }
                div.faint { (mark) " " (bytes(data.len() / 4 * 3)) }
            },
            Some((_, data)) => div.txt.dim { (mark) " " (bytes(data.len() / 4 * 3)) ", too large to show" },
            None => div.txt.dim { (mark) },
        }
    }
}

/// The picture with this name in the messages of a run, with its type.
pub(crate) fn find(run: &Run, name: &str) -> Option<(&'static str, Vec<u8>)> {
    let wanted = u64::from_str_radix(name, 16).ok()?;
    let messages = run.steps.iter().flat_map(|step| {
        let input = step
            .operation
            .input_messages
            .as_ref()
            .map(|messages| messages.own())
            .unwrap_or_default();
        input.iter().chain(step.operation.output_messages.as_deref().unwrap_or_default())
    });
    let pictures = messages.flat_map(|message| &message.parts).filter_map(|part| match part {
        Part::Media(media) => encoded(media).filter(|data| data.len() / 4 * 3 <= MAX_PICTURE_BYTES && kind(data).is_some()),
        _ => None,
    });
    let data = pictures.into_iter().find(|data| of_text(data) == wanted)?;
    let plain: Cow<'_, str> = match data.contains(char::is_whitespace) {
        true => data.split_whitespace().collect::<String>().into(),
        false => data.into(),
    };
    let bytes = STANDARD_NO_PAD.decode(plain.trim_end_matches('=')).ok()?;
    Some((kind_of(&bytes)?, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pictures_by_their_first_bytes_are_shown() {
        let media = |uri: &str| Media {
            uri: Some(uri.to_owned()),
            ..Media::default()
        };
        let shown = |uri: &str| view(&media(uri), TraceId::from_hex(&"0b".repeat(16))).into_string();
        let png = STANDARD.encode(b"\x89PNG\r\n\x1a\n and more of it");
        assert!(shown(&format!("data:text/html;base64,{png}")).contains("<img src=\"/runs/0b0b"));
        let page = STANDARD.encode(b"<svg onload=alert(1)></svg>");
        for uri in [
            format!("data:image/svg+xml;base64,{page}"),
            "https://elsewhere.example/a.png".to_owned(),
            "data:image/png;base64,????".to_owned(),
        ] {
            assert!(!shown(&uri).contains("<img"), "{uri}");
        }
        assert!(
            !view(&media(&format!("data:image/png;base64,{png}")), None)
                .into_string()
                .contains("<img"),
            "a file loads nothing"
        );
    }
}
