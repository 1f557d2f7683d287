//! Converts runs to documents of any format: the documents, their text, and sequences of them. Documents of imported runs are
//! restored.

use std::io::{self, Write};

use serde_json::Value;

use super::any::{AnyDocument, AnyFormat, unwritten};
use super::back::remainder::{self, Remainder};
use super::back::{Numbers, Restored};
use super::format::{Assembled, last};
use crate::document::choice::Options;
use crate::document::layout::{Layout, Sequence};
use crate::document::loss::{Loss, LossReason};
use crate::run::Run;

impl AnyFormat {
    /// The documents of one run, or of the runs of one session in causal order, before they are turned into text. Empty if no agent did
    /// anything.
    #[must_use]
    pub fn documents<'a>(&self, runs: &'a [Run], options: &Options) -> Vec<Assembled<AnyDocument<'a>>> {
        if !runs.iter().any(Run::has_agent_work) {
            return Vec::new();
        }
        if remainder::is_in(runs) {
            let restored = restored(self, runs, options);
            return restored
                .into_iter()
                .map(|assembled| assembled.map(AnyDocument::of_restored))
                .collect();
        }
        (self.typed)(runs, options)
    }

    /// The documents of only the last of a session's runs, when they may contain parts of earlier runs.
    pub(crate) fn documents_of_last<'a>(&self, runs: &'a [Run], options: &Options) -> Vec<Assembled<AnyDocument<'a>>> {
        let of_last = last(runs);
        if remainder::is_in(of_last) || !of_last.iter().any(Run::has_agent_work) {
            return self.documents(of_last, options);
        }
        (self.typed_last)(runs, options)
    }

    /// The documents as JSON text without a line break at the end.
    #[must_use]
    pub fn assemble(&self, runs: &[Run], options: &Options, layout: Layout) -> Vec<Assembled<String>> {
        let text = |Assembled { document, mut losses }: Assembled<AnyDocument<'_>>| {
            let document = document.text(layout).unwrap_or_else(|error| {
                losses.push(unwritten(&error));
                "null".to_owned()
            });
            Assembled { document, losses }
        };
        self.documents(runs, options).into_iter().map(text).collect()
    }

    /// Writes the documents piece by piece.
    ///
    /// # Errors
    ///
    /// Writing to `out` fails, or a document cannot be written.
    pub fn write(&self, runs: &[Run], options: &Options, sequence: Sequence, out: &mut dyn Write) -> io::Result<()> {
        let documents = self.documents(runs, options);
        if sequence == Sequence::Lines {
            for assembled in &documents {
                assembled.document.write(Layout::Compact, out)?;
                out.write_all(b"\n")?;
            }
            return Ok(());
        }
        let alone = sequence == Sequence::OneOrArray && documents.len() == 1;
        for (at, assembled) in documents.iter().enumerate() {
            match (alone, at) {
                (true, _) => {}
                (false, 0) => out.write_all(b"[\n")?,
                (false, _) => out.write_all(b",\n")?,
            }
            assembled.document.write(Layout::Indented, out)?;
        }
        out.write_all(match (alone, documents.len()) {
            (true, _) => b"\n",
            (false, 0) => b"[]\n",
            (false, _) => b"\n]\n",
        })
    }
}

/// The documents of runs, some of which were imported from documents.
fn restored(format: &AnyFormat, runs: &[Run], options: &Options) -> Vec<Assembled<Restored>> {
    let mut runs = runs.to_vec();
    let mut losses: Vec<Loss> = Vec::new();
    let mut numbers = Numbers::default();
    let take = |run| remainder::take(run, format.id, &mut numbers, &mut losses);
    let remainders: Vec<Option<Remainder>> = runs.iter_mut().map(take).collect();
    let options = match remainders.as_slice() {
        [Some(remainder)] => remainder.options(options),
        _ => options.clone(),
    };
    let mut documents = format.values(&runs, &options);
    if documents.is_empty() && remainders.iter().any(Option::is_some) {
        documents.push(Assembled {
            document: Value::Null,
            losses: Vec::new(),
        });
    }
    if documents.len() == remainders.len() {
        for (assembled, remainder) in documents.iter_mut().zip(&remainders) {
            if let Some(remainder) = remainder {
                remainder.apply(&mut assembled.document, &mut assembled.losses);
            }
        }
    } else if remainders.iter().any(Option::is_some) {
        losses.push(Loss::new(None, "documents as imported", LossReason::NoPlace));
    }
    if let Some(first) = documents.first_mut() {
        first.losses.append(&mut losses);
    }
    // These places are valid for one document in its own format only.
    if let [Some(remainder)] = remainders.as_slice() {
        numbers.take_places(&remainder.numbers(), "");
    }
    let restored = |Assembled { document, losses }| Assembled {
        document: Restored {
            document,
            numbers: numbers.clone(),
        },
        losses,
    };
    documents.into_iter().map(restored).collect()
}
