//! Content that spans refer to: clients may store messages in files and record a `file://` address instead.
//!
//! Files are read only on request, and only from named folders: strangers must not choose which files are read.

use std::cell::{Cell, RefCell};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::Value;

use crate::dialect::elsewhere;
use crate::hash::HashMap;
use crate::sessions::open_file;
use crate::span::{AnyValue, Attributes, LogRecord, Span};

/// Folders from which content may be read.
pub(super) struct ContentFolders<'a> {
    folders: &'a [PathBuf],
    /// Remaining bytes of content: many spans may refer to one file.
    left: Cell<usize>,
    /// Content by file.
    read: RefCell<HashMap<PathBuf, Rc<str>>>,
}

/// A canonical folder.
pub(super) fn folder(path: &str) -> Result<PathBuf, String> {
    let path = fs::canonicalize(path).map_err(|error| error.to_string())?;
    if path.is_dir() {
        Ok(path)
    } else {
        Err("this is not a directory".to_owned())
    }
}

impl<'a> ContentFolders<'a> {
    /// Allows these [folders](folder), and at most this many bytes of content. A file counts each time it is referred to.
    pub(super) fn new(folders: &'a [PathBuf], limit: usize) -> Self {
        Self {
            folders,
            left: Cell::new(limit),
            read: RefCell::default(),
        }
    }

    /// Adds the content to the spans and log records; returns errors as text.
    pub(super) fn fill(&self, spans: &mut [Span], logs: &mut [LogRecord]) -> Vec<String> {
        let mut refused = Vec::new();
        let of_spans = spans.iter_mut().map(|span| &mut span.attributes);
        let of_logs = logs.iter_mut().map(|record| &mut record.attributes);
        for attributes in of_spans.chain(of_logs) {
            self.fill_one(attributes, &mut refused);
        }
        refused
    }

    fn fill_one(&self, attributes: &mut Attributes, refused: &mut Vec<String>) {
        let addresses = attributes.iter().filter_map(|(key, value)| elsewhere::address(key, value));
        let in_files = addresses.filter(|(content, address)| is_file(address) && !elsewhere::is_here(attributes, content));
        let in_files: Vec<(String, String)> = in_files
            .map(|(content, address)| (content.to_owned(), address.to_owned()))
            .collect();
        for (content, address) in in_files {
            match self.read(&address) {
                Ok(text) => attributes.push(content, AnyValue::from(text)),
                Err(why) => refused.push(format!("{content} at {address}: {why}")),
            }
        }
    }

    fn read(&self, address: &str) -> Result<String, String> {
        let path = path_of(address).ok_or("this is not a path of this machine")?;
        let path = fs::canonicalize(path).map_err(|error| error.to_string())?;
        if !self.folders.iter().any(|folder| path.starts_with(folder)) {
            return Err("the file is not in a directory of --content-from".to_owned());
        }
        let known = self.read.borrow().get(&path).map(Rc::clone);
        let text = match known {
            Some(text) => text,
            None => self.read_file(&path)?,
        };
        let left = self.left.get().checked_sub(text.len()).ok_or(TOO_MANY)?;
        self.left.set(left);
        self.read.borrow_mut().insert(path, Rc::clone(&text));
        Ok(as_one(&text))
    }

    /// Reads a file only once, even if it changes.
    fn read_file(&self, path: &Path) -> Result<Rc<str>, String> {
        let left = self.left.get() as u64;
        let file = open_file(path).map_err(|error| error.to_string())?;
        let mut text = String::new();
        file.take(left.saturating_add(1))
            .read_to_string(&mut text)
            .map_err(|error| error.to_string())?;
        if text.len() as u64 > left {
            Err(TOO_MANY.to_owned())
        } else {
            Ok(text.into())
        }
    }
}

const TOO_MANY: &str = "the files that spans refer to have more bytes than --max-bytes allows";

fn is_file(address: &str) -> bool {
    address.starts_with("file://")
}

/// The path of a local `file://` address.
fn path_of(address: &str) -> Option<PathBuf> {
    let rest = address.strip_prefix("file://")?;
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    let path = percent_encoding::percent_decode_str(rest).decode_utf8().ok()?;
    Some(Path::new(path.as_ref()).to_owned()).filter(|path| path.is_absolute())
}

/// A list with one item per line, as one JSON list.
fn as_one(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let items: Result<Vec<Value>, _> = lines.map(serde_json::from_str).collect();
    match items {
        Ok(items) if items.len() > 1 || items.iter().any(Value::is_object) => Value::Array(items).to_string(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes(address: &str) -> Attributes {
        let mut attributes = Attributes::default();
        attributes.push("gen_ai.input.messages_ref", address.to_owned());
        attributes
    }

    #[test]
    fn only_files_of_named_folders_are_read() {
        let around = tempfile::tempdir().expect("a directory");
        let inside = around.path().join("stored");
        fs::create_dir(&inside).expect("made");
        fs::write(inside.join("in put.jsonl"), "{\"role\":\"user\"}\n{\"role\":\"user\"}\n").expect("written");
        fs::write(around.path().join("secret"), "secret").expect("written");
        let named = [folder(&inside.display().to_string()).expect("there")];
        let folders = ContentFolders::new(&named, 100);
        let at = |path: &str| format!("file://{}/{path}", inside.display());
        for (address, text, is_refused) in [
            (at("in%20put.jsonl"), Some(r#"[{"role":"user"},{"role":"user"}]"#), false),
            (at("../secret"), None, true),
            (at("missing"), None, true),
            ("file://elsewhere".to_owned(), None, true),
            ("gs://bucket/in.json".to_owned(), None, false),
        ] {
            let (mut of, mut refused) = (attributes(&address), Vec::new());
            folders.fill_one(&mut of, &mut refused);
            assert_eq!(of.text("gen_ai.input.messages"), text, "{address}");
            assert_eq!(!refused.is_empty(), is_refused, "{address}");
        }
        // The file has 32 bytes: of 100, the first span has taken as many already.
        for is_refused in [false, false, true] {
            let (mut of, mut refused) = (attributes(&at("in%20put.jsonl")), Vec::new());
            folders.fill_one(&mut of, &mut refused);
            assert_eq!(!refused.is_empty(), is_refused);
            // It is read once.
            fs::write(inside.join("in put.jsonl"), "something else").expect("written");
        }
    }
}
