//! One spelling for each model provider, from the table in `semconv/providers.yaml`.

#[rustfmt::skip]
#[cfg_attr(not(any(feature = "server", feature = "layer")), expect(dead_code, reason = "OpenInference's words are for writers"))]
mod table;

use table::{NONE, SPELLINGS, WITH_API};

/// A provider's normalized name in lower case; `None` for a word that does not name a provider.
pub(super) fn name(word: &str) -> Option<String> {
    let word = word.trim().to_ascii_lowercase();
    if NONE.contains(&word.as_str()) {
        return None;
    }
    let spelling = SPELLINGS.iter().find(|(other, _)| *other == word);
    if let Some((_, provider)) = spelling {
        return Some((*provider).to_owned());
    }
    // `openai.chat`, `openai.responses`, `anthropic.messages`: the provider and one of its APIs.
    let head = word.split('.').next().filter(|head| WITH_API.contains(head));
    Some(head.unwrap_or(&word).to_owned())
}

/// `OpenInference`'s name for a provider, and the API if its vocabulary has a word for it; `None` if the name is the same as ours.
#[cfg(any(feature = "server", feature = "layer"))]
pub(super) fn in_openinference(provider: &str) -> Option<(&'static str, Option<&'static str>)> {
    let line = table::OPENINFERENCE.iter().find(|(ours, ..)| *ours == provider);
    line.map(|(_, provider, system)| (*provider, *system))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_has_one_name() {
        assert_eq!(name("openai.chat").as_deref(), Some("openai"));
        assert_eq!(name(" Azure_OpenAI").as_deref(), Some("azure.openai"));
        assert_eq!(name("acme.models").as_deref(), Some("acme.models"));
        assert_eq!((name("LangChain"), name(" ")), (None, None));
    }
}
