//! Unpacks Inspect's container to the JSON text of a log. Samples are in separate files: one, or a folder of parts
//! (`sample.json` with lists of events, messages and calls, and texts by number).

use std::collections::BTreeMap;
use std::io::Read;

use rawzip::{CompressionMethod, ZipArchive};
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::formats::format::{ReserveMemory, UnpackError};

/// A file in the container: how and where it is stored.
struct Packed<'a> {
    bytes: &'a [u8],
    method: CompressionMethod,
    crc: u32,
}

type Files<'a> = BTreeMap<String, Packed<'a>>;

/// The text, up to `limit` bytes, of a log in a container; `None` if the bytes are none. `reserve` is called before memory grows.
pub(super) fn unpack(bytes: &[u8], limit: usize, reserve: &mut ReserveMemory<'_>) -> Option<Result<Vec<u8>, UnpackError>> {
    if !bytes.starts_with(b"PK\x03\x04") {
        return None;
    }
    let files = files(bytes)?;
    let begin = if files.contains_key(HEADER) { HEADER } else { JOURNAL_START };
    files.contains_key(begin).then(|| log(&files, begin, bytes.len(), limit, reserve))
}

const HEADER: &str = "header.json";
/// A log that is still being written has no header.
const JOURNAL_START: &str = "_journal/start.json";
const SAMPLES: &str = "samples/";

/// The files by name; if two have the same name, the later one counts.
fn files(bytes: &[u8]) -> Option<Files<'_>> {
    let archive = ZipArchive::from_slice(bytes).ok()?;
    let mut entries = archive.entries();
    let mut out = Files::new();
    while let Some(entry) = entries.next_entry().ok()? {
        let name = String::from_utf8_lossy(entry.file_path().as_ref()).into_owned();
        let (method, crc) = (entry.compression_method(), entry.crc32());
        let (from, to) = archive.get_entry(entry.wayfinder()).ok()?.compressed_data_range();
        let place = usize::try_from(from).ok()?..usize::try_from(to).ok()?;
        let bytes = bytes.get(place)?;
        out.insert(name, Packed { bytes, method, crc });
    }
    Some(out)
}

fn log(files: &Files<'_>, begin: &str, length: usize, limit: usize, reserve: &mut ReserveMemory<'_>) -> Result<Vec<u8>, UnpackError> {
    // Files that share bytes would be decompressed again and again.
    let packed: usize = files.values().map(|file| file.bytes.len()).sum();
    if packed > length {
        return Err(UnpackError::broken(begin, "files of the archive overlap"));
    }
    let mut text = Text {
        out: Vec::new(),
        limit,
        reserve,
    };
    text.object(files, begin)?;
    if begin == JOURNAL_START {
        text.push(b",\"status\":\"started\"")?;
    }
    text.push(b",\"samples\":[")?;
    let mut is_first = true;
    for name in files.keys().filter(|name| is_sample(name)) {
        if !std::mem::take(&mut is_first) {
            text.push(b",")?;
        }
        match name.strip_suffix("/sample.json") {
            Some(folder) => text.parts(files, name, folder)?,
            None => drop(text.whole(files, name)?),
        }
    }
    text.push(b"]}")?;
    Ok(text.out)
}

/// `samples/ID_epoch_N.json`, or `samples/ID_epoch_N/sample.json`; an id may have slashes.
fn is_sample(name: &str) -> bool {
    let Some(rest) = name.strip_prefix(SAMPLES) else { return false };
    let rest = rest.strip_suffix("/sample.json").or_else(|| rest.strip_suffix(".json"));
    let epoch = rest.and_then(|rest| rest.rsplit_once("_epoch_")).map(|(_, epoch)| epoch);
    epoch.is_some_and(|epoch| !epoch.is_empty() && epoch.bytes().all(|digit| digit.is_ascii_digit()))
}

/// A text that grows up to its limit.
struct Text<'l, 'm> {
    out: Vec<u8>,
    limit: usize,
    reserve: &'l mut ReserveMemory<'m>,
}

impl Text<'_, '_> {
    fn room(&mut self, more: usize) -> Result<(), UnpackError> {
        let needed = self.out.len().saturating_add(more);
        if needed > self.limit {
            return Err(UnpackError::TooLarge { limit: self.limit });
        }
        if needed > self.out.capacity() {
            let capacity = needed.max(self.out.capacity().saturating_mul(2)).min(self.limit);
            // Twice the size, because growing copies the text.
            (self.reserve)(capacity.saturating_sub(self.out.capacity()).saturating_mul(2))?;
            self.out.reserve_exact(capacity - self.out.len());
        }
        Ok(())
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), UnpackError> {
        self.room(bytes.len())?;
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    /// Appends the JSON text of a file; returns where it begins.
    fn whole(&mut self, files: &Files<'_>, name: &str) -> Result<usize, UnpackError> {
        const PIECE: usize = 64 << 10;
        let begin = self.out.len();
        let Some(file) = files.get(name) else { return Ok(begin) };
        let broken = |reason: &dyn std::fmt::Display| UnpackError::broken(name, reason);
        let mut reader: Box<dyn Read + '_> = match file.method {
            CompressionMethod::STORE => Box::new(file.bytes),
            CompressionMethod::DEFLATE => Box::new(flate2::bufread::DeflateDecoder::new(file.bytes)),
            CompressionMethod::ZSTD => Box::new(zstd::stream::read::Decoder::new(file.bytes).map_err(|error| broken(&error))?),
            other => return Err(broken(&format!("compressed as {other:?}: it is read stored, deflated or as zstd"))),
        };
        let mut piece = vec![0; PIECE];
        loop {
            let read = reader.read(&mut piece).map_err(|error| broken(&error))?;
            let Some(piece) = piece.get(..read).filter(|piece| !piece.is_empty()) else {
                break;
            };
            self.push(piece)?;
        }
        let text = self.out.get(begin..).unwrap_or_default();
        if crc32fast::hash(text) != file.crc {
            return Err(broken(&"its checksum is another: the file is damaged"));
        }
        let IgnoredAny = serde_json::from_slice(text).map_err(|error| broken(&error))?;
        Ok(begin)
    }

    /// Appends the object in a file, without its closing brace.
    fn object(&mut self, files: &Files<'_>, name: &str) -> Result<(), UnpackError> {
        let begin = self.whole(files, name)?;
        let text = self.out.get(begin..).unwrap_or_default().trim_ascii();
        let Some(inner) = text.strip_prefix(b"{").and_then(|text| text.strip_suffix(b"}")) else {
            return Err(UnpackError::broken(name, "it is not an object"));
        };
        let is_empty = inner.trim_ascii().is_empty();
        let end = self.out.trim_ascii_end().len().saturating_sub(1);
        self.out.truncate(end);
        if is_empty {
            // The following member begins with a comma.
            self.push(b"\"version\":2")?;
        }
        Ok(())
    }

    /// Appends a sample in parts.
    fn parts(&mut self, files: &Files<'_>, name: &str, folder: &str) -> Result<(), UnpackError> {
        self.object(files, name)?;
        let about = format!("{folder}/metadata.json");
        if files.contains_key(&about) {
            self.push(b",\"metadata\":")?;
            self.whole(files, &about)?;
        }
        self.push(b",\"events\":[")?;
        self.list(files, folder, "events")?;
        self.push(b"],\"events_data\":{\"messages\":[")?;
        self.list(files, folder, "messages")?;
        self.push(b"],\"calls\":[")?;
        self.list(files, folder, "calls")?;
        self.push(b"]},\"attachments\":{")?;
        self.texts(files, folder)?;
        self.push(b"}}")
    }

    /// Appends the items of a list split over several files, each named by the number of its first item.
    fn list(&mut self, files: &Files<'_>, folder: &str, list: &str) -> Result<(), UnpackError> {
        let mut is_first = true;
        for (_, name) in numbered(files, folder, list) {
            let comma = !is_first;
            if comma {
                self.push(b",")?;
            }
            let begin = self.whole(files, &name)?;
            let text = self.out.get(begin..).unwrap_or_default().trim_ascii();
            let Some(inner) = text.strip_prefix(b"[").and_then(|text| text.strip_suffix(b"]")) else {
                return Err(UnpackError::broken(&name, "it is not a list"));
            };
            let inner = inner.trim_ascii().to_vec();
            self.out.truncate(begin);
            if inner.is_empty() {
                self.out.truncate(begin - usize::from(comma));
                continue;
            }
            self.push(&inner)?;
            is_first = false;
        }
        Ok(())
    }

    /// Appends texts by number.
    fn texts(&mut self, files: &Files<'_>, folder: &str) -> Result<(), UnpackError> {
        let mut is_first = true;
        for (first, name) in numbered(files, folder, "attachments") {
            let begin = self.whole(files, &name)?;
            let text = self.out.split_off(begin);
            let list: Vec<&RawValue> = serde_json::from_slice(&text).map_err(|error| UnpackError::broken(&name, error))?;
            for (number, text) in (first..).zip(list) {
                let comma = if std::mem::take(&mut is_first) { "" } else { "," };
                self.push(format!("{comma}\"{number}\":").as_bytes())?;
                self.push(text.get().as_bytes())?;
            }
        }
        Ok(())
    }
}

/// The files of a list, in order.
fn numbered(files: &Files<'_>, folder: &str, list: &str) -> Vec<(u64, String)> {
    let prefix = format!("{folder}/{list}/");
    let of_list = files
        .range(prefix.clone()..)
        .map(|(name, _)| name)
        .take_while(|name| name.starts_with(&prefix));
    let mut out: Vec<(u64, String)> = of_list
        .filter_map(|name| Some((name.strip_prefix(&prefix)?.strip_suffix(".json")?.parse().ok()?, name.clone())))
        .collect();
    out.sort_unstable();
    out
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::DeflateEncoder;
    use rawzip::ZipArchiveWriter;
    use serde_json::{Value, json};

    use super::*;

    /// A container of these files, each stored, deflated or as zstd in turn.
    fn packed(files: &[(&str, String)]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut archive = ZipArchiveWriter::new(&mut out);
        for (number, (name, text)) in files.iter().enumerate() {
            let method = [CompressionMethod::STORE, CompressionMethod::DEFLATE, CompressionMethod::ZSTD][number % 3];
            let (mut entry, config) = archive.new_file(name).compression_method(method).start().unwrap();
            let descriptor = match method {
                CompressionMethod::STORE => {
                    let mut writer = config.wrap(&mut entry);
                    writer.write_all(text.as_bytes()).unwrap();
                    writer.finish().unwrap().1
                }
                CompressionMethod::DEFLATE => {
                    let mut writer = config.wrap(DeflateEncoder::new(&mut entry, Compression::default()));
                    writer.write_all(text.as_bytes()).unwrap();
                    let (encoder, descriptor) = writer.finish().unwrap();
                    encoder.finish().unwrap();
                    descriptor
                }
                _ => {
                    let mut writer = config.wrap(zstd::stream::write::Encoder::new(&mut entry, 3).unwrap());
                    writer.write_all(text.as_bytes()).unwrap();
                    let (encoder, descriptor) = writer.finish().unwrap();
                    encoder.finish().unwrap();
                    descriptor
                }
            };
            entry.finish(descriptor).unwrap();
        }
        archive.finish().unwrap();
        out
    }

    fn unpacked(bytes: &[u8], limit: usize) -> Option<Result<Value, UnpackError>> {
        let text = unpack(bytes, limit, &mut |_| Ok(()))?;
        Some(text.map(|text| serde_json::from_slice(&text).unwrap()))
    }

    #[test]
    fn samples_are_files_or_folders() {
        let files = [
            ("header.json", json!({"eval": {"task": "t"}}).to_string()),
            ("samples/a_epoch_1.json", json!({"id": "a"}).to_string()),
            ("samples/a/b_epoch_2/sample.json", json!({"id": "a/b"}).to_string()),
            ("samples/a/b_epoch_2/metadata.json", json!({"m": 1}).to_string()),
            ("samples/a/b_epoch_2/events/10.json", json!([{"event": "c"}]).to_string()),
            ("samples/a/b_epoch_2/events/2.json", json!([{"event": "b"}]).to_string()),
            ("samples/a/b_epoch_2/events/0.json", json!([]).to_string()),
            ("samples/a/b_epoch_2/events/stats.json", json!([{"event": "no"}]).to_string()),
            ("samples/a/b_epoch_2/attachments/0.json", json!(["x", "y"]).to_string()),
            ("summaries.json", json!([]).to_string()),
        ];
        let log = unpacked(&packed(&files), 1 << 20).unwrap().unwrap();
        let parts = json!({"id": "a/b", "metadata": {"m": 1}, "events": [{"event": "b"}, {"event": "c"}],
            "events_data": {"messages": [], "calls": []}, "attachments": {"0": "x", "1": "y"}});
        assert_eq!(log, json!({"eval": {"task": "t"}, "samples": [parts, {"id": "a"}]}));
        assert!(
            unpacked(&packed(&[("a.txt", "{}".to_owned())]), 1 << 20).is_none(),
            "another archive"
        );
        assert!(unpacked(b"{}", 1 << 20).is_none());
    }

    #[test]
    fn a_log_without_a_header_goes_on() {
        let files = [("_journal/start.json", json!({"version": 2, "eval": {}}).to_string())];
        let log = unpacked(&packed(&files), 1 << 20).unwrap().unwrap();
        assert_eq!(log, json!({"version": 2, "eval": {}, "status": "started", "samples": []}));
    }

    #[test]
    fn more_than_the_limit_is_not_unpacked() {
        let long = json!({"id": "a", "x": "x".repeat(1 << 20)}).to_string();
        for at in 0..3 {
            let mut files = vec![("header.json", "{}".to_owned()); at + 1];
            files.push(("samples/a_epoch_1.json", long.clone()));
            let bytes = packed(&files);
            let most = |limit| matches!(unpacked(&bytes, limit), Some(Err(UnpackError::TooLarge { .. })));
            assert!(most(1 << 20) && most(100) && !most(2 << 20), "{at}");
        }
        let mut asked = 0;
        let bytes = packed(&[("header.json", "{}".to_owned()), ("samples/a_epoch_1.json", long)]);
        let refused = unpack(&bytes, 2 << 20, &mut |more| {
            asked += more;
            Err(UnpackError::Memory)
        });
        assert!(matches!(refused, Some(Err(UnpackError::Memory))) && asked > 0);
    }

    #[test]
    fn a_damaged_file_is_named() {
        let mut bytes = packed(&[("header.json", json!({"eval": {"task": "a long name of a task"}}).to_string())]);
        let place = memchr::memmem::find(&bytes, b"long name").unwrap();
        bytes[place] = b'L';
        let error = unpacked(&bytes, 1 << 20).unwrap().unwrap_err().to_string();
        assert!(error.contains("header.json") && error.contains("checksum"), "{error}");
        let no_json = packed(&[("header.json", "{".to_owned())]);
        assert!(unpacked(&no_json, 1 << 20).unwrap().is_err());
    }
}
