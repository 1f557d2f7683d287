//! Recorded losses that await acknowledgement, and their acknowledgement.

use std::path::Path;

use super::finding::Findings;
use crate::cli::held::quoted;
use crate::cli::out::with_causes;
use crate::store::log::{self, Fault, Lost};
use crate::store::{self, Error, Losses, index};

/// A wider gap in the numbers of segments is not a loss: one of the files has a foreign name.
const WIDEST_GAP: u64 = 10_000;

/// The recorded losses of a store.
pub(super) fn kept(directory: &Path, found: &mut Findings) -> Losses {
    Losses::of(directory).unwrap_or_else(|error| {
        found.wrong(
            with_causes(&error),
            "it is not known what was lost earlier",
            "check the permissions; run spanbridge doctor as the user of the server",
        );
        Losses::default()
    })
}

/// Reports unacknowledged losses.
pub(super) fn open(directory: &Path, losses: &Losses, found: &mut Findings) {
    let acknowledge = format!("spanbridge doctor --acknowledge --data-dir {}", quoted(directory));
    for loss in losses.open() {
        found.wrong(
            format!("{}: {}", directory.display(), loss.lost),
            "these records were acknowledged; the index was rebuilt without them",
            format!(
                "restore {} from a backup, then: spanbridge reindex --data-dir {}; when nothing more can be done: {acknowledge}",
                log::file_name(loss.lost.segment),
                quoted(directory)
            ),
        );
    }
    if losses.is_incomplete() {
        found.wrong(
            format!("{}: the file that keeps losses is damaged", directory.display()),
            "more may have been lost than is reported",
            acknowledge,
        );
    }
}

/// Checks the files that record deletions.
pub(super) fn deletions(directory: &Path, found: &mut Findings) {
    match store::faults_of_deletions(directory) {
        Ok(faults) => {
            for fault in faults {
                found.wrong(
                    format!("{}: {fault}", directory.display()),
                    "this file and its copy keep what was deleted on request from being stored again; one of them is left",
                    "restart spanbridge serve, which mends it",
                );
            }
        }
        Err(error) => found.wrong(
            with_causes(&error),
            "serve does not start",
            "restore deletions.json from a backup (docs: operating, backup)",
        ),
    }
}

/// Acknowledges all current losses.
pub(super) fn acknowledge(directory: &Path, found: &mut Findings) {
    match lost_now(directory).and_then(|lost| store::acknowledge(directory, &lost)) {
        Ok(acknowledged) => {
            for lost in acknowledged {
                found.ok(format!("{}: acknowledged: {lost}", directory.display()));
            }
        }
        Err(error) => found.wrong(
            with_causes(&error),
            "losses are reported further on",
            "check the permissions; run spanbridge doctor as the user of the server",
        ),
    }
}

/// What the log lacks, whether or not an index records what it was.
fn lost_now(directory: &Path) -> Result<Vec<Lost>, Error> {
    let numbers = log::segments(directory)?;
    let lost = |segment, fault| Lost {
        segment,
        fault,
        records: 0,
        traces: 0,
    };
    let mut all: Vec<Lost> = Vec::new();
    for (before, after) in numbers.iter().zip(numbers.iter().skip(1)) {
        if after - before <= WIDEST_GAP {
            all.extend((before + 1..*after).map(|segment| lost(segment, Fault::Gone)));
        }
    }
    let last = numbers.last().copied();
    for number in numbers {
        let Some(inspected) = log::inspect(directory, number)? else {
            continue;
        };
        if super::records::is_damaged(&inspected, last == Some(number)) {
            all.push(lost(number, Fault::Damaged));
        }
    }
    for number in index::last_records(directory).unwrap_or_default().into_keys() {
        if let Some(known) = store::lost_in(directory, number)? {
            all.retain(|lost| lost.segment != number);
            all.push(known);
        }
    }
    Ok(all)
}
