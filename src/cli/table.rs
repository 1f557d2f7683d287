//! Parquet tables, if the program is built with the feature `parquet`: each row becomes a line of JSON.
//!
//! Phoenix saves its table of spans in this format, ClickHouse and Databricks export theirs in it, and most data sets of chat
//! messages are published in it. Columns are interpreted as in any JSON. Nulls are left out: a column exists for all rows.

use super::problem::Problem;

/// Begin and end of a Parquet file.
#[cfg(feature = "parquet")]
const MAGIC: &[u8] = b"PAR1";

/// Rows converted at a time: their texts are in memory next to the result.
#[cfg(feature = "parquet")]
const ROWS: usize = 16;

/// The rows of a Parquet file as lines of JSON, at most `limit` bytes; `None` for other files.
#[cfg(not(feature = "parquet"))]
pub(super) fn lines(_file: &str, _bytes: &[u8], _limit: usize) -> Option<Result<Vec<u8>, Problem>> {
    None
}

/// The rows of a Parquet file as lines of JSON, at most `limit` bytes; `None` for other files.
#[cfg(feature = "parquet")]
pub(super) fn lines(file: &str, bytes: &[u8], limit: usize) -> Option<Result<Vec<u8>, Problem>> {
    let is_table = bytes.len() > MAGIC.len() && bytes.starts_with(MAGIC) && bytes.ends_with(MAGIC);
    is_table.then(|| {
        let mut text = bounded::Text::new(limit);
        match read(bytes, &mut text) {
            Ok(()) => Ok(text.into_bytes()),
            Err(_) if text.is_full() => Err(Problem::TooLarge {
                file: file.to_owned(),
                limit,
            }),
            Err(source) => Err(Problem::Table {
                file: file.to_owned(),
                source,
            }),
        }
    })
}

#[cfg(feature = "parquet")]
fn read(bytes: &[u8], text: &mut bounded::Text) -> Result<(), arrow_schema::ArrowError> {
    use arrow_json::LineDelimitedWriter;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    let bytes = bytes::Bytes::copy_from_slice(bytes);
    let rows = ParquetRecordBatchReaderBuilder::try_new(bytes)?.with_batch_size(ROWS).build()?;
    let mut writer = LineDelimitedWriter::new(text);
    for batch in rows {
        writer.write(&batch?)?;
    }
    writer.finish()
}

#[cfg(feature = "parquet")]
mod bounded {
    use std::io::{self, Write};

    /// Text up to a limit.
    pub(super) struct Text {
        bytes: Vec<u8>,
        limit: usize,
        is_full: bool,
    }

    impl Text {
        pub(super) fn new(limit: usize) -> Self {
            Self {
                bytes: Vec::new(),
                limit,
                is_full: false,
            }
        }

        pub(super) fn is_full(&self) -> bool {
            self.is_full
        }

        pub(super) fn into_bytes(self) -> Vec<u8> {
            self.bytes
        }
    }

    impl Write for Text {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.is_full = bytes.len() > self.limit.saturating_sub(self.bytes.len());
            if self.is_full {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            self.bytes.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}
