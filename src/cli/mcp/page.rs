//! A text in pages of so many bytes.

use rmcp::schemars;
use serde::{Deserialize, Deserializer};

/// An answer that fits into an agent's context beside others.
const DEFAULT: usize = 16 << 10;
const LEAST: usize = 512;
const MOST: usize = 256 << 10;

/// Which part of an answer is wanted.
#[derive(Debug, Clone, Copy, Default, Deserialize, schemars::JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct Page {
    /// The most bytes of the answer: 512 to 262144 [default: 16384].
    #[serde(default, deserialize_with = "number")]
    #[schemars(with = "usize", skip_serializing_if = "Option::is_none")]
    max_bytes: Option<usize>,
    /// Where the page begins, in bytes: the offset at the end of the page before it [default: 0].
    #[serde(default, deserialize_with = "number")]
    #[schemars(with = "usize", skip_serializing_if = "Option::is_none")]
    offset: Option<usize>,
}

/// A number, also as text, as some clients send all that a person or a model gives them.
pub(super) fn number<'de, D: Deserializer<'de>>(given: D) -> Result<Option<usize>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a number")]
    enum Given {
        Number(usize),
        Text(String),
    }
    match Option::deserialize(given)? {
        None => Ok(None),
        Some(Given::Number(number)) => Ok(Some(number)),
        Some(Given::Text(text)) => text
            .trim()
            .parse()
            .map(Some)
            .map_err(|_| serde::de::Error::custom(format!("{text} is not a number"))),
    }
}

impl Page {
    /// This part of a text. What is left out is named at its end.
    pub(super) fn of(self, text: &str) -> String {
        let most = self.max_bytes.unwrap_or(DEFAULT).clamp(LEAST, MOST);
        let from = text.floor_char_boundary(self.offset.unwrap_or(0));
        if from == 0 && text.len() <= most {
            return text.to_owned();
        }
        let note = |until: usize| match until < text.len() {
            true => format!("\n[bytes {from} to {until} of {}; the next page has offset {until}]", text.len()),
            false => format!("\n[bytes {from} to {until} of {}: the end]", text.len()),
        };
        let room = most.saturating_sub(note(text.len().saturating_sub(1)).len());
        let until = text.floor_char_boundary(from.saturating_add(room));
        let shown = text.get(from..until).unwrap_or_default();
        format!("{shown}{}", note(until))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pages_have_the_whole_text_and_keep_to_their_size(text in "[a-zäöü😀\n]{0,3000}", most in 0_usize..2000) {
            let (mut whole, mut offset) = (String::new(), 0);
            loop {
                let page = Page { max_bytes: Some(most), offset: Some(offset) }.of(&text);
                prop_assert!(page.len() <= most.clamp(LEAST, MOST));
                let Some((shown, note)) = page.rsplit_once("\n[bytes ") else {
                    whole.push_str(&page);
                    break;
                };
                whole.push_str(shown);
                match note.rsplit_once("offset ") {
                    Some((_, next)) => {
                        let next: usize = next.trim_end_matches(']').parse().unwrap_or(0);
                        prop_assert!(next > offset);
                        offset = next;
                    }
                    None => break,
                }
            }
            prop_assert_eq!(whole, text);
        }
    }
}
