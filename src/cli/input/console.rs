//! Console output of the JavaScript SDK.

use super::Batch;
use super::requests::METRICS;
use crate::cli::out;
use crate::cli::problem::Problem;
use crate::span::json::{Message, console};

impl Batch<'_> {
    /// Adds the spans in console output; returns whether there are any.
    pub(super) fn add_console(&mut self, file: &str, text: &[u8]) -> bool {
        if !console::may_have(text) {
            return false;
        }
        let mut add = |request: serde_json::Value| match Message::parse(request.to_string().as_bytes()) {
            Ok(message) => self.add_message(file, 0, message),
            Err(source) => self.fault(file, 0, source),
        };
        let Some(console) = console::read(text, &mut add) else {
            return false;
        };
        if console.broken > 0 {
            self.broken_objects(file, console.broken);
        }
        if std::str::from_utf8(text).is_err() {
            self.note(file, "bytes that are not UTF-8 were read as U+FFFD");
        }
        if console.cut.count > 0 {
            let named = console.cut.first.join(", ");
            let more = if console.cut.count > console.cut.first.len() { ", ..." } else { "" };
            let places = out::many(console.cut.count, "value");
            self.notes.push(format!(
                "{file}: {places} cut off by the console exporter ({named}{more}); export the spans as OTLP to have them whole"
            ));
        }
        if console.metrics > 0 {
            self.note(file, METRICS);
        }
        self.other_lines(file, console.other_lines);
        true
    }

    pub(super) fn broken_objects(&mut self, file: &str, count: usize) {
        self.problems.push(Problem::Console {
            file: file.to_owned(),
            objects: out::many(count, "object"),
        });
    }

    pub(super) fn other_lines(&mut self, file: &str, count: usize) {
        if count > 0 {
            let lines = out::many(count, "line");
            self.note(file, format_args!("{lines} between the printed spans, which are ignored"));
        }
    }
}
