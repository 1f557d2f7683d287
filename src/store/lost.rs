//! What was acknowledged and is gone: records that the index knows and the log no longer holds.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;

use super::disk::{Directory, Disk};
use super::index::{self, Places};
use super::log::{Form, Segment, file_name, form_of, has_footer, segments_of};
use super::{Error, error};

/// Records of one segment that were acknowledged and are gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// The segment that they stood in.
    pub segment: u64,
    /// What is wrong with it.
    pub fault: Fault,
    /// How many records.
    pub records: u64,
    /// Of how many traces.
    pub traces: u64,
}

/// What is wrong with a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// There is no such file any more.
    Gone,
    /// The file has an end, but not its own.
    Cut {
        /// Its bytes now.
        bytes: u64,
    },
    /// Parts of it are not what was written.
    Damaged,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            segment, records, traces, ..
        } = self;
        match self.fault {
            Fault::Gone => write!(f, "segment {segment}: the file is gone")?,
            Fault::Cut { bytes } => write!(f, "segment {segment}: the file was cut off at byte {bytes}")?,
            Fault::Damaged => write!(f, "segment {segment}: parts of the file are damaged")?,
        }
        match records {
            0 => f.write_str("; all its records are there"),
            _ => write!(f, "; {records} acknowledged records of {traces} traces are lost"),
        }
    }
}

impl Lost {
    fn of(segment: u64, fault: Fault, places: &Places) -> Self {
        let traces: BTreeSet<i64> = places.values().copied().flatten().collect();
        Self {
            segment,
            fault,
            records: places.len() as u64,
            traces: traces.len() as u64,
        }
    }
}

/// The sealed segments that are shorter than they were. Of those that are not, only size and end are looked at.
pub(super) fn cut_segments(disk: &dyn Disk, path: &Path, connection: &Connection, active: u64) -> Result<Vec<Lost>, Error> {
    let present = segments_of(disk).map_err(|source| error::of_io("list", path, source))?;
    let ends = index::ends(connection)?;
    let mut lost = Vec::new();
    for number in present.iter().copied().filter(|number| *number < active) {
        let io = |source| error::of_io("read a segment of", path, source);
        let file = disk.open(&file_name(number)).map_err(io)?;
        let bytes = file.size().map_err(io)?;
        let whole = match form_of(&*file, number)?.map_err(io)? {
            Some(Form::Compressed) => has_footer(&*file).map_err(io)?,
            // A compressed one whose head is damaged is not shorter than told by its end either.
            Some(Form::Raw) | None => ends.get(&number).is_none_or(|end| *end <= bytes) || has_footer(&*file).map_err(io)?,
        };
        if !whole {
            let segment = Segment::open(file, number)?.map_err(io)?;
            let places = missing(&segment, connection).map_err(io)??;
            lost.push(Lost::of(number, Fault::Cut { bytes }, &places));
        }
    }
    for number in ends.into_keys().filter(|number| !present.contains(number) && *number < active) {
        let places = index::places_in(connection, number)?;
        if !places.is_empty() {
            lost.push(Lost::of(number, Fault::Gone, &places));
        }
    }
    Ok(lost)
}

/// The records of a segment that the index knows and that are not whole.
fn missing(segment: &Segment, connection: &Connection) -> io::Result<Result<Places, Error>> {
    let whole: BTreeSet<u64> = segment.places()?.into_iter().collect();
    Ok(index::places_in(connection, segment.number()).map(|mut places| {
        places.retain(|at, _| !whole.contains(&at.offset));
        places
    }))
}

/// What an index that was made anew no longer knows of these records, by segment.
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
        .map(|(number, places)| Lost::of(number, fault(number), &places))
        .collect()
}

/// The records of one segment that the index knows and that are not whole in the log, read from beginning to end.
///
/// # Errors
///
/// The index or the segment cannot be read.
pub fn lost_in(directory: &Path, number: u64) -> Result<Option<Lost>, Error> {
    let connection = index::open_to_inspect(directory)?;
    index::check_version(&connection)?;
    let file = match Directory::read_only(directory).open(&file_name(number)) {
        Ok(file) => file,
        Err(source) if source.kind() == io::ErrorKind::NotFound => {
            let places = index::places_in(&connection, number)?;
            return Ok((!places.is_empty()).then(|| Lost::of(number, Fault::Gone, &places)));
        }
        Err(source) => return Err(error::of_io("read", &directory.join(file_name(number)), source)),
    };
    let io = |source| Error::Io {
        doing: "read",
        path: directory.join(file_name(number)),
        source: Arc::new(source),
    };
    let segment = Segment::open(file, number)?.map_err(io)?;
    let places = missing(&segment, &connection).map_err(io)??;
    Ok((!places.is_empty()).then(|| Lost::of(number, Fault::Damaged, &places)))
}
