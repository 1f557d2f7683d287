//! Recognises files that cannot be read, to explain why.

#[cfg(feature = "parquet")]
const PARQUET: &str = "a Parquet file that is cut off";
#[cfg(not(feature = "parquet"))]
const PARQUET: &str = "a Parquet file, whose rows a program reads that is built with `--features parquet`";

/// What a file is, by its first bytes; `None` if they are not conclusive.
pub(super) fn named(bytes: &[u8]) -> Option<&'static str> {
    const KNOWN: &[(&[u8], &str)] = &[
        (b"PK\x03\x04", "a ZIP archive with no log of Inspect AI; unpack it"),
        (b"PAR1", PARQUET),
        (b"%PDF", "a PDF document"),
        (b"\x89PNG", "an image"),
        (b"\xff\xd8\xff", "an image"),
        (b"<!DOCTYPE", "a page for browsers"),
        (b"<html", "a page for browsers"),
        (b"<?xml", "an XML document"),
        (b"---\n", "a YAML document"),
    ];
    if bytes.starts_with(b"SQLite format 3\0") {
        return Some(database(bytes));
    }
    let known = KNOWN.iter().find(|(begin, _)| bytes.starts_with(begin));
    known.map(|(_, name)| *name)
}

/// Whose a SQLite database is, by the names of its tables: its first page has them.
fn database(bytes: &[u8]) -> &'static str {
    const PAGE: usize = 64 << 10;
    let schema = bytes.get(..PAGE).unwrap_or(bytes);
    let has = |name: &[u8]| memchr::memmem::find(schema, name).is_some();
    if has(b"cursorDiskKV") {
        "a database of Cursor"
    } else if has(b"ItemTable") {
        "a database of VS Code or Cursor"
    } else {
        "a SQLite database"
    }
}
