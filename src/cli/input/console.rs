//! What the JavaScript SDK printed to its console.

use super::Batch;
use crate::cli::out;
use crate::cli::problem::Problem;
use crate::span::json::{JsonError, Message, console};

/// So many places that node cut are named.
const NAMED: usize = 3;

impl Batch<'_> {
    /// Adds what a text has of a console; whether it has something.
    pub(super) fn add_console(&mut self, file: &str, text: &[u8]) -> bool {
        let mut add = |request: serde_json::Value| match Message::parse(request.to_string().as_bytes()) {
            Ok(message) => self.add_message(file, 0, message),
            Err(JsonError::Syntax { source }) => self.syntax(file, 0, text, source),
            Err(_) => {}
        };
        let Some(console) = console::read(text, &mut add) else {
            return false;
        };
        if console.broken > 0 {
            self.problems.push(Problem::Console {
                file: file.to_owned(),
                objects: out::many(console.broken, "object"),
            });
        }
        if !console.cut.is_empty() {
            let named = console.cut.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
            let more = if console.cut.len() > NAMED { ", ..." } else { "" };
            let places = out::many(console.cut.len(), "value");
            self.notes.push(format!(
                "{file}: {places} cut off when they were printed ({named}{more}); export the spans as OTLP to have them whole"
            ));
        }
        if console.metrics > 0 {
            self.notes.push(format!("{file}: has metrics, which are ignored"));
        }
        if console.other_lines > 0 {
            let lines = out::many(console.other_lines, "line");
            self.notes
                .push(format!("{file}: {lines} between the printed spans, which are passed over"));
        }
        true
    }
}
