//! Summarizes an export request without decoding it: its traces, spans and times, and what a list of traces shows.
//!
//! The scan refuses what prost refuses, and messages of 4 GiB or more, so whatever it accepts can be decoded later. If only some items are
//! unreadable, those are refused and belong to no part. It runs in time linear in the number of bytes, whatever they contain.
//!
//! Hand-written because prost would decode the whole message into memory. Requests are stored unchanged, and only their ids, times and
//! names are needed.

mod scanner;

pub use super::names::Names;
use super::names::{ItemNames, SessionKeys};
pub use super::part::{Key, Part};
use super::schema::Type;
use super::wire::{Cursor, Fault, FaultKind, fault};
use crate::span::Signal;
pub use scanner::Scan;
use scanner::Scanner;

/// Scans a request. `session_keys` are the attribute keys that may name a session, best first.
///
/// # Errors
///
/// The bytes are not a request of this signal; the fault names the place. Metrics are never scanned: they have no parts.
pub fn scan(bytes: &[u8], signal: Signal, session_keys: &[&str]) -> Result<Scan, Fault> {
    scan_within(bytes, signal, session_keys, &mut |_| true)
}

/// Like [`scan`], but calls `may` with a number of bytes before using that much memory. A part may need many times its size in the message.
///
/// # Errors
///
/// Those of [`scan`], and [`FaultKind::Memory`] if `may` refused.
pub fn scan_within(bytes: &[u8], signal: Signal, session_keys: &[&str], may: &mut dyn FnMut(usize) -> bool) -> Result<Scan, Fault> {
    if u32::try_from(bytes.len()).is_err() {
        return Err(fault(u32::MAX as usize, FaultKind::Length));
    }
    let mut scanner = Scanner::new(signal, session_keys, may);
    scanner.request(bytes, &Names::default())?;
    match scanner.broken {
        // Not one item is readable, so this is not such a request.
        Some(fault) if scanner.whole == 0 => Err(fault),
        _ => Ok(scanner.scan),
    }
}

/// Summarizes a part whose message is in pieces: whole resources, each with the names from outside its bytes. `None` if it has no items.
///
/// # Errors
///
/// As for [`scan`].
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

/// The names in a resource's fields around its items.
///
/// # Errors
///
/// They are not a resource's fields.
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

/// Finds the byte at which a message breaks, and how.
///
/// # Errors
///
/// That fault.
pub fn check(bytes: &[u8], signal: Signal) -> Result<(), Fault> {
    match signal {
        Signal::Traces => super::wire::check(bytes, Type::TracesRequest),
        Signal::Logs => super::wire::check(bytes, Type::LogsRequest),
        Signal::Metrics => super::wire::check(bytes, Type::MetricsRequest),
    }
}
