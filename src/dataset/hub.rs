//! A data set for the Hugging Face Hub: a scan for secrets, and the card of its folder.

mod columns;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

use super::manifest::Manifest;
use crate::redact::secrets::Scan;
use columns::Column;

/// The text by which a card written by this program is recognised.
pub(super) const MARK: &str = "written by spanbridge";

/// Information collected from rows while they are written.
#[derive(Debug)]
pub struct Hub {
    row: Column,
    scan: Scan,
    /// Names of secret forms allowed in the rows.
    allowed: BTreeSet<String>,
}

impl Hub {
    /// For a data set in which secrets of these forms are allowed.
    #[must_use]
    pub fn new(scan: Scan, allowed: BTreeSet<String>) -> Self {
        Self {
            row: Column::default(),
            scan,
            allowed,
        }
    }

    /// Examines a row. `place`: the run that it represents.
    pub fn row(&mut self, place: &str, text: &str) {
        self.scan.text(place, text);
        if let Ok(row) = serde_json::from_str::<Value>(text) {
            self.row.add(&row);
        }
    }

    /// The secrets that must not be published, one line each.
    #[must_use]
    pub fn secrets(&self) -> Vec<String> {
        let found = self.scan.found().iter().filter(|(name, _)| !self.allowed.contains(*name));
        found
            .map(|(name, found)| format!("{name}: {}, the first in run {}", found.count, found.first))
            .collect()
    }

    /// Members of rows with values of several types, which `datasets` cannot load.
    #[must_use]
    pub fn mixed(&self) -> Vec<String> {
        self.row.mixed()
    }

    /// The card: the folder's `README.md`. Adding a licence is left to the publisher.
    #[must_use]
    pub fn card(&self, manifest: &Manifest) -> String {
        let mut card = "---\npretty_name: Agent runs\ntask_categories:\n- text-generation\n".to_owned();
        card.push_str("configs:\n- config_name: default\n  data_files:\n");
        for (split, file) in manifest.files() {
            // Names of splits may contain letters, digits, `_` and `.`.
            let _ = writeln!(card, "  - split: {}\n    path: {:?}", split.replace('-', "_"), file.file);
        }
        if let Some(features) = self.row.features().filter(|_| self.mixed().is_empty()) {
            let _ = write!(card, "dataset_info:\n  features:\n{features}");
        }
        card.push_str("---\n\n# Agent runs\n\n");
        let (read, selected, skipped) = manifest.counts();
        let _ = writeln!(
            card,
            "Runs of LLM agents as rows of chat messages, {MARK} {} in the format `{}`. `manifest.json` has all figures.\n",
            env!("CARGO_PKG_VERSION"),
            manifest.format
        );
        card.push_str("| split | rows | bytes |\n|---|---|---|\n");
        for (split, file) in manifest.files() {
            let _ = writeln!(card, "| {split} | {} | {} |", file.rows, file.bytes);
        }
        let left_out: Vec<String> = skipped.map(|(why, count)| format!("{count} {}", why.words())).collect();
        let left_out = if left_out.is_empty() {
            "none".to_owned()
        } else {
            left_out.join(", ")
        };
        let _ = writeln!(card, "\n* Runs: {selected} of {read}. Left out: {left_out}.");
        if let Some(filter) = &manifest.filter {
            let _ = writeln!(card, "* Selected by `{filter}`.");
        }
        if manifest.dedup {
            card.push_str("* Of equal runs, the first is kept.\n");
        }
        match &manifest.redacted {
            None => card.push_str("* Nothing was redacted.\n"),
            Some(redacted) => {
                let counts: Vec<String> = redacted
                    .0
                    .iter()
                    .filter(|(_, count)| **count > 0)
                    .map(|(name, count)| format!("{name} {count}"))
                    .collect();
                let counts = if counts.is_empty() {
                    "nothing was found".to_owned()
                } else {
                    counts.join(", ")
                };
                let _ = writeln!(card, "* Redacted with {} rules: {counts}.", redacted.0.len());
            }
        }
        let _ = write!(card, "* Scanned for {} forms of secrets: ", self.scan.names().count());
        let allowed: Vec<String> = self
            .scan
            .found()
            .iter()
            .map(|(name, found)| format!("{} {name}", found.count))
            .collect();
        match allowed.as_slice() {
            [] => card.push_str("none was found.\n"),
            allowed => {
                let _ = writeln!(card, "{} are in the rows, and were allowed.", allowed.join(", "));
            }
        }
        card.push_str("* Licence: not chosen. Add `license:` to the head of this file before you publish it.\n");
        card
    }
}
