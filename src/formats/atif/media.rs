//! Images and sounds: a URL that readers can fetch, or a file next to the document.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use sha2::{Digest as _, Sha256};

use super::table::{PART, SOURCE};
use crate::document::json::{Object, Text};
use crate::operation::message::Media;
use crate::operation::{Message, Part};
use crate::run::{EntryKind, Run};
use crate::span::hex;

/// The types that readers accept, with their file extensions; the first extension is used for writing.
const TYPES: [(&str, &[&str]); 12] = [
    ("image/png", &["png"]),
    ("image/jpeg", &["jpg", "jpeg"]),
    ("image/gif", &["gif"]),
    ("image/webp", &["webp"]),
    ("audio/wav", &["wav"]),
    ("audio/mpeg", &["mp3", "mpga"]),
    ("audio/mp4", &["m4a", "mp4"]),
    ("audio/aac", &["aac"]),
    ("audio/ogg", &["ogg", "oga"]),
    ("audio/flac", &["flac"]),
    ("audio/webm", &["weba", "webm"]),
    ("audio/aiff", &["aiff", "aif"]),
];

/// Other names of these types.
const ALIASES: [(&str, &str); 9] = [
    ("image/jpg", "image/jpeg"),
    ("audio/mp3", "audio/mpeg"),
    ("audio/mpga", "audio/mpeg"),
    ("audio/x-wav", "audio/wav"),
    ("audio/wave", "audio/wav"),
    ("audio/x-m4a", "audio/mp4"),
    ("audio/m4a", "audio/mp4"),
    ("audio/x-flac", "audio/flac"),
    ("audio/x-aiff", "audio/aiff"),
];

/// A content part for an image or a sound. With `keeps_files`, inline data becomes a file; otherwise it has no part.
pub(super) fn part<'a>(part: &'a Part, keeps_files: bool) -> Option<Object<'a>> {
    let Part::Media(media) = part else { return None };
    let (mime, path): (&'static str, Text<'a>) = match media.uri.as_deref() {
        Some(uri) if uri.starts_with("https://") || uri.starts_with("http://") => {
            let ending = uri.split(['?', '#']).next()?.rsplit('.').next()?.to_ascii_lowercase();
            let of_ending = || type_of_ending(&ending, &media.modality);
            let mime = match media.mime_type.as_deref() {
                Some(mime) => known(mime)?,
                None => of_ending()?,
            };
            (mime, uri.into())
        }
        _ if keeps_files => {
            let (mime, text) = inline(media)?;
            decoded(text)?;
            (mime, name(mime, text).into())
        }
        _ => return None,
    };
    let kind = if mime.starts_with("audio/") { "audio" } else { "image" };
    let source = SOURCE.given([("media_type", mime.into()), ("path", path.into())]);
    Some(PART.given([("type", kind.into()), ("source", source.into())]))
}

/// The canonical name of a type, if readers accept it.
fn known(mime: &str) -> Option<&'static str> {
    let mime = mime.trim().to_ascii_lowercase();
    let mime = ALIASES
        .iter()
        .find(|(alias, _)| *alias == mime)
        .map_or(mime.as_str(), |(_, own)| own);
    TYPES.iter().find(|(own, _)| *own == mime).map(|(own, _)| *own)
}

fn type_of_ending(ending: &str, modality: &str) -> Option<&'static str> {
    let fits = |(mime, endings): &&(&'static str, &[&str])| mime.starts_with(modality) && endings.contains(&ending);
    TYPES.iter().find(fits).map(|(mime, _)| *mime)
}

/// The type and base64 text of inline data.
fn inline(media: &Media) -> Option<(&'static str, &str)> {
    if let Some(rest) = media.uri.as_deref().and_then(|uri| uri.strip_prefix("data:")) {
        let (about, text) = rest.split_once(',')?;
        let mime = about.strip_suffix(";base64")?.split(';').next()?;
        return Some((known(mime)?, text));
    }
    let mime = media.mime_type.as_deref()?;
    Some((known(mime)?, media.base64.as_deref()?))
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    let text = text.trim();
    STANDARD.decode(text).or_else(|_| STANDARD_NO_PAD.decode(text)).ok()
}

/// The name of a file: equal bytes share one file.
fn name(mime: &str, text: &str) -> String {
    let digest = Sha256::digest(text.trim().as_bytes());
    let own = TYPES.iter().find(|(own, _)| *own == mime);
    let ending = own.and_then(|(_, endings)| endings.first()).copied().unwrap_or("bin");
    format!("media/{}.{ending}", hex(digest.get(..8).unwrap_or_default()))
}

/// The files that documents of these runs refer to.
pub(super) fn files(runs: &[Run]) -> BTreeMap<String, Vec<u8>> {
    let mut out = BTreeMap::new();
    let mut take = |message: &Message| {
        for part in &message.parts {
            let Part::Media(media) = part else { continue };
            if let Some((mime, text)) = inline(media)
                && let Some(bytes) = decoded(text)
            {
                out.insert(name(mime, text), bytes);
            }
        }
    };
    for entry in runs.iter().flat_map(|run| &run.scopes).flat_map(|scope| &scope.conversation) {
        if let EntryKind::Message(message) | EntryKind::Turn(message) = &entry.kind {
            take(message);
        }
    }
    out
}
