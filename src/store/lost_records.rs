//! Finds lost records: acknowledged ones that the index has and the log no longer contains.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;

use super::disk::{Directory, Disk};
use super::error::{Error, of_io};
use super::index::{self, Places};
use super::log::{Fault, Form, Lost, Recovery, Segment, file_name, form_of, has_footer, segments_of};

fn lost(segment: u64, fault: Fault, places: &Places) -> Lost {
    let traces: BTreeSet<i64> = places.values().copied().flatten().collect();
    Lost {
        segment,
        fault,
        records: places.len() as u64,
        traces: traces.len() as u64,
    }
}

/// Sealed segments that were cut. Of whole ones, only the size and the end are read.
pub(super) fn cut_segments(disk: &dyn Disk, path: &Path, connection: &Connection, active: u64) -> Result<Vec<Lost>, Error> {
    let present = segments_of(disk).map_err(|source| of_io("list", path, source))?;
    let ends = index::ends(connection)?;
    let mut found = Vec::new();
    for number in present.iter().copied().filter(|number| *number < active) {
        let io = |source| of_io("read a segment of", path, source);
        let file = disk.open(&file_name(number)).map_err(io)?;
        let bytes = file.size().map_err(io)?;
        let whole = match form_of(&*file, number)?.map_err(io)? {
            Some(Form::Compressed) => has_footer(&*file).map_err(io)?,
            // A compressed segment with a damaged head is also whole if it has its footer.
            Some(Form::Raw) | None => ends.get(&number).is_none_or(|end| *end <= bytes) || has_footer(&*file).map_err(io)?,
        };
        if !whole {
            let segment = Segment::open(file, number)?.map_err(io)?;
            let places = missing(&segment, connection).map_err(io)??;
            found.push(lost(number, Fault::Cut { bytes }, &places));
        }
    }
    for number in ends.into_keys().filter(|number| !present.contains(number) && *number < active) {
        let places = index::places_in(connection, number)?;
        if !places.is_empty() {
            found.push(lost(number, Fault::Gone, &places));
        }
    }
    Ok(found)
}

/// Records of a segment that the index has and that are not whole.
fn missing(segment: &Segment, connection: &Connection) -> io::Result<Result<Places, Error>> {
    let whole: BTreeSet<u64> = segment.places()?.into_iter().collect();
    Ok(index::places_in(connection, segment.number()).map(|mut places| {
        places.retain(|at, _| !whole.contains(&at.offset));
        places
    }))
}

/// The records of `known` that a rebuilt index lacks, by segment.
pub(super) fn gone(disk: &dyn Disk, mut known: Places, now: &Places) -> Vec<Lost> {
    known.retain(|at, _| !now.contains_key(at));
    let mut by_segment: BTreeMap<u64, Places> = BTreeMap::new();
    for (at, trace) in known {
        by_segment.entry(at.segment).or_default().insert(at, trace);
    }
    let fault = |number: u64| match disk.open(&file_name(number)).and_then(|file| file.size()) {
        Ok(bytes) => Fault::Cut { bytes },
        Err(_) => Fault::Gone,
    };
    by_segment
        .into_iter()
        .map(|(number, places)| lost(number, fault(number), &places))
        .collect()
}

/// The records that the former index had and that are not whole in the log from which the index was rebuilt.
pub(super) fn of_former(disk: &dyn Disk, path: &Path, former: &Connection, recovery: &Recovery) -> Result<Vec<Lost>, Error> {
    let Some(active) = segments_of(disk).map_err(|source| of_io("list", path, source))?.pop() else {
        return Ok(Vec::new());
    };
    let mut found = cut_segments(disk, path, former, active)?;
    let torn = recovery.torn.iter().map(|torn| torn.at.segment);
    let damaged: BTreeSet<u64> = recovery
        .damaged
        .iter()
        .map(|damage| damage.at.segment)
        .chain(torn)
        .chain([active])
        .collect();
    for number in damaged {
        if found.iter().any(|lost| lost.segment == number) {
            continue;
        }
        let io = |source| of_io("read a segment of", path, source);
        let segment = Segment::open(disk.open(&file_name(number)).map_err(io)?, number)?.map_err(io)?;
        let places = missing(&segment, former).map_err(io)??;
        found.push(lost(number, Fault::Damaged, &places));
    }
    let beyond = index::places_from(former, active + 1)?;
    found.extend(gone(disk, beyond, &Places::new()));
    found.retain(|lost| lost.records > 0);
    Ok(found)
}

/// Adds the losses in `others` unless `found` has at least as many records of the segment.
pub(super) fn with_records(mut found: Vec<Lost>, others: Vec<Lost>) -> Vec<Lost> {
    for other in others {
        if !found
            .iter()
            .any(|lost| lost.segment == other.segment && lost.records >= other.records)
        {
            found.push(other);
        }
    }
    found.sort_by_key(|lost| lost.segment);
    found
}

/// The records of one segment that the index has and that are not whole in the log, which is read from beginning to end.
///
/// # Errors
///
/// The index or the segment cannot be read.
pub(crate) fn lost_in(directory: &Path, number: u64) -> Result<Option<Lost>, Error> {
    let connection = index::open_to_inspect(directory)?;
    index::check_version(&connection)?;
    let file = match Directory::read_only(directory).open(&file_name(number)) {
        Ok(file) => file,
        Err(source) if source.kind() == io::ErrorKind::NotFound => {
            let places = index::places_in(&connection, number)?;
            return Ok((!places.is_empty()).then(|| lost(number, Fault::Gone, &places)));
        }
        Err(source) => return Err(of_io("read", &directory.join(file_name(number)), source)),
    };
    let io = |source| Error::Io {
        doing: "read",
        path: directory.join(file_name(number)),
        source: Arc::new(source),
    };
    let segment = Segment::open(file, number)?.map_err(io)?;
    let places = missing(&segment, &connection).map_err(io)??;
    Ok((!places.is_empty()).then(|| lost(number, Fault::Damaged, &places)))
}
