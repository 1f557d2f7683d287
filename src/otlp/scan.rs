//! The content of an export request, without decoding it: which traces, which spans, when, and what a list of traces shows.
//!
//! The scan refuses what prost refuses, and messages of 4 GiB and more: what it lets through can always be
//! decoded later. Where other items can be read, those that cannot are refused alone, and are in no part. Its work is linear in
//! the bytes, whatever is in them.
//!
//! It is written by hand because prost decodes all of a message into memory, and a request is stored as it came: only its ids, times
//! and names are needed.

mod scanner;

pub use super::names::Names;
use super::names::{ItemNames, SessionKeys};
pub use super::part::{Key, Part};
use super::schema::Type;
use super::wire::{Cursor, Fault, FaultKind, fault};
use crate::span::Signal;
pub use scanner::Scan;
use scanner::Scanner;

/// Scans a request. `session_keys` are the attribute keys that name a session, best first.
///
/// # Errors
///
/// The bytes are not a request of this signal; the place is named. Metrics are never scanned: they have no parts.
pub fn scan(bytes: &[u8], signal: Signal, session_keys: &[&str]) -> Result<Scan, Fault> {
    scan_within(bytes, signal, session_keys, &mut |_| true)
}

/// Scans a request, and asks before memory is taken whether it may be, by so many bytes. A part of a request may take many
/// times what it has in the message.
///
/// # Errors
///
/// As [`scan`]; and [`FaultKind::Memory`] when the answer was no.
pub fn scan_within(bytes: &[u8], signal: Signal, session_keys: &[&str], may: &mut dyn FnMut(usize) -> bool) -> Result<Scan, Fault> {
    if u32::try_from(bytes.len()).is_err() {
        return Err(fault(u32::MAX as usize, FaultKind::Length));
    }
    let mut scanner = Scanner::new(signal, session_keys, may);
    scanner.request(bytes, &Names::default())?;
    match scanner.broken {
        // Not one item can be read: it is something else.
        Some(fault) if scanner.whole == 0 => Err(fault),
        _ => Ok(scanner.scan),
    }
}

/// The content of a part whose message is in pieces: whole resources, each with the names that it has from what is not in
/// its bytes. `None`: there is no item.
///
/// # Errors
///
/// As [`scan`].
#[cfg(feature = "server")]
pub(crate) fn part_of<'a>(
    pieces: impl Iterator<Item = (&'a [u8], &'a Names)>,
    signal: Signal,
    session_keys: &[&str],
) -> Result<Option<Part>, Fault> {
    let mut always = |_| true;
    let mut scanner = Scanner::new(signal, session_keys, &mut always);
    for (bytes, names) in pieces {
        scanner.request(bytes, names)?;
    }
    if let Some(fault) = scanner.broken {
        return Err(fault);
    }
    Ok(scanner.scan.parts.into_iter().next())
}

/// The content of a resource's fields around its items.
///
/// # Errors
///
/// They are not those of a resource.
pub(crate) fn names_of(envelope: &[u8], session_keys: &[&str]) -> Result<Names, Fault> {
    let keys = SessionKeys::new(session_keys);
    let mut said = ItemNames::default();
    let mut fields = Cursor::new(envelope);
    while let Some(field) = fields.next()? {
        fields.check(Type::ResourceSpans, &field)?;
        if field.number == 1 {
            said.resource(&keys, fields.enter(&field)?)?;
        }
    }
    Ok(said.names())
}

/// The byte at which a message breaks, and how.
///
/// # Errors
///
/// That place.
pub fn check(bytes: &[u8], signal: Signal) -> Result<(), Fault> {
    match signal {
        Signal::Traces => super::wire::check(bytes, Type::TracesRequest),
        Signal::Logs => super::wire::check(bytes, Type::LogsRequest),
        Signal::Metrics => super::wire::check(bytes, Type::MetricsRequest),
    }
}
