//! A text in pages of limited size.

use std::io::Write as _;

use rmcp::schemars;
use serde::{Deserialize, Deserializer};

use crate::view::excerpt::Excerpt;

/// Default size: fits into an agent's context among other answers.
const DEFAULT_BYTES: usize = 16 << 10;
const MIN_BYTES: usize = 512;
const MAX_BYTES: usize = 256 << 10;

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

/// A number, or its text form, which some clients send.
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
    fn most(self) -> usize {
        self.max_bytes.unwrap_or(DEFAULT_BYTES).clamp(MIN_BYTES, MAX_BYTES)
    }

    /// Keeps the part of a text that this page shows. `goes_on`: whether the client still waits.
    pub(super) fn excerpt(self, goes_on: &dyn Fn() -> bool) -> Excerpt<'_> {
        Excerpt::new(self.offset.unwrap_or(0), self.most(), goes_on)
    }

    /// The text of this page, with a note of what is left out.
    pub(super) fn shown(self, text: &Excerpt<'_>) -> String {
        let (len, most) = (text.len(), self.most());
        let from = text.floor(self.offset.unwrap_or(0));
        if from == 0 && len <= most {
            return text.text(0..len).into_owned();
        }
        let note = |until: usize| match until < len {
            true => format!("\n[bytes {from} to {until} of {len}; the next page has offset {until}]"),
            false => format!("\n[bytes {from} to {until} of {len}: the end]"),
        };
        let room = most.saturating_sub(note(len.saturating_sub(1)).len());
        let until = text.floor(from.saturating_add(room));
        format!("{}{}", text.text(from..until), note(until))
    }

    /// This page of a text.
    pub(super) fn of(self, text: &str) -> String {
        let mut excerpt = self.excerpt(&|| true);
        let _ = excerpt.write_all(text.as_bytes());
        self.shown(&excerpt)
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
                prop_assert!(page.len() <= most.clamp(MIN_BYTES, MAX_BYTES));
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
