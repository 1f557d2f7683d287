//! Converts rows of `messages` to Arrow arrays, and writes them to a file.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use arrow_json::reader::{Decoder, ReaderBuilder};
use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError as FileError;
use parquet::file::properties::WriterProperties;
use serde_json::Value;

use super::error::{ParquetError, offers};
use crate::dataset::manifest::RowFile;
use crate::dataset::rows::Counted;
use crate::formats::{AnyFormat, Options, rows_have_origin};

/// Bytes of rows converted to arrays at a time.
const BATCH_BYTES: usize = 4 << 20;
/// Size in bytes at which a row group is written.
const GROUP_BYTES: usize = 32 << 20;

/// A table being written.
pub(in crate::dataset) struct Rows {
    decoder: Decoder,
    writer: ArrowWriter<Counted>,
    waiting: Vec<Value>,
    waiting_bytes: usize,
    rows: u64,
    /// Whether call arguments are already JSON text.
    text_arguments: bool,
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl Rows {
    pub(in crate::dataset) fn create(path: &Path, format: &AnyFormat, options: &Options) -> Result<Self, ParquetError> {
        offers(format)?;
        let text_arguments = options.is("messages.flavour", "openai");
        let schema = schema(text_arguments, options.is("messages.tools", "text"), rows_have_origin(options));
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .build();
        Ok(Self {
            decoder: ReaderBuilder::new(Arc::clone(&schema)).with_strict_mode(true).build_decoder()?,
            writer: ArrowWriter::try_new(Counted::create(path)?, schema, Some(properties))?,
            waiting: Vec::new(),
            waiting_bytes: 0,
            rows: 0,
            text_arguments,
        })
    }

    pub(in crate::dataset) fn row(&mut self, text: &str) -> Result<(), ParquetError> {
        let message = |error: serde_json::Error| ParquetError::Row {
            message: error.to_string(),
        };
        let mut row: Value = serde_json::from_str(text).map_err(message)?;
        opened(&mut row, self.text_arguments);
        self.waiting.push(row);
        self.waiting_bytes += text.len();
        self.rows += 1;
        if self.waiting_bytes >= BATCH_BYTES { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), ParquetError> {
        self.decoder.serialize(&self.waiting)?;
        self.waiting.clear();
        self.waiting_bytes = 0;
        if let Some(batch) = self.decoder.flush()? {
            self.writer.write(&batch)?;
        }
        if self.writer.in_progress_size() >= GROUP_BYTES {
            self.writer.flush()?;
        }
        Ok(())
    }

    pub(in crate::dataset) fn finish(mut self, file: String) -> Result<RowFile, ParquetError> {
        self.write()?;
        Ok(self.writer.into_inner()?.finish(file, self.rows)?)
    }
}

/// Converts values whose shape differs between rows to text.
fn opened(row: &mut Value, text_arguments: bool) {
    fn items<'v>(value: &'v mut Value, key: &str) -> impl Iterator<Item = &'v mut Value> {
        let list = value.get_mut(key).and_then(Value::as_array_mut);
        list.into_iter().flatten()
    }
    if !text_arguments {
        let calls = items(row, "messages").flat_map(|message| items(message, "tool_calls"));
        for arguments in calls.filter_map(|call| call.pointer_mut("/function/arguments")) {
            *arguments = Value::String(arguments.to_string());
        }
    }
    for tool in items(row, "tools") {
        *tool = Value::String(tool.to_string());
    }
}

fn schema(text_arguments: bool, text_tools: bool, has_origin: bool) -> SchemaRef {
    let text = |name: &str| Field::new(name, DataType::Utf8, true);
    let function = vec![text("name"), if text_arguments { text("arguments") } else { json("arguments") }];
    let call = vec![text("id"), text("type"), Field::new_struct("function", function, true)];
    let calls = Field::new_list("tool_calls", Field::new_struct("element", call, true), true);
    let mut message = vec![text("role"), text("content")];
    if !text_arguments {
        message.push(text("reasoning_content"));
    }
    message.extend([calls, text("tool_call_id"), text("name")]);
    if text_arguments {
        message.push(Field::new("weight", DataType::Int64, true));
    }
    let messages = Field::new_list("messages", Field::new_struct("element", message, true), true);
    let tools = if text_tools {
        text("tools")
    } else {
        Field::new_list("tools", json("element"), true)
    };
    let origin = [text("trace_id"), text("span_id")];
    let columns: Vec<Field> = [messages, tools]
        .into_iter()
        .chain(origin.into_iter().filter(|_| has_origin))
        .collect();
    Arc::new(Schema::new(columns))
}

/// A text column of the type `arrow.json`.
fn json(name: &str) -> Field {
    let kind = [(EXTENSION_TYPE_NAME_KEY, "arrow.json"), (EXTENSION_TYPE_METADATA_KEY, "")];
    let kind: HashMap<String, String> = kind.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    Field::new(name, DataType::Utf8, true).with_metadata(kind)
}

impl From<ArrowError> for ParquetError {
    fn from(error: ArrowError) -> Self {
        Self::Row {
            message: error.to_string(),
        }
    }
}

impl From<FileError> for ParquetError {
    fn from(error: FileError) -> Self {
        match error {
            FileError::External(source) => match source.downcast::<std::io::Error>() {
                Ok(source) => Self::Io(*source),
                Err(other) => Self::Row {
                    message: other.to_string(),
                },
            },
            other => Self::Row {
                message: other.to_string(),
            },
        }
    }
}
