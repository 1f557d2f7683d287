//! The tables.

use rusqlite::Connection;

/// Raised when the tables change: an index of another version is made anew from the log.
pub(super) const VERSION: i64 = 2;

const TABLES: &str = "
-- Up to where the log is covered.
CREATE TABLE covered (segment INTEGER NOT NULL, offset INTEGER NOT NULL);
INSERT INTO covered VALUES (0, 0);

-- Where the chunks of each trace are. kind: 1 spans, 2 log records. checksum: of the message, as in the record's head; a
-- chunk that came again has the same, and then the bytes tell.
CREATE TABLE chunks (
    trace BLOB NOT NULL,
    checksum INTEGER NOT NULL,
    segment INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    PRIMARY KEY (trace, checksum, segment, offset)
) WITHOUT ROWID;

-- Where log records without a trace are, by the session that they name (empty: none).
CREATE TABLE loose (
    session TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    segment INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    PRIMARY KEY (session, checksum, segment, offset)
) WITHOUT ROWID;

-- One row a trace. Times in nanoseconds since 1970; revision counts chunks.
CREATE TABLE traces (
    trace BLOB PRIMARY KEY,
    root TEXT,
    root_start INTEGER,
    root_ended INTEGER NOT NULL,
    service TEXT,
    session TEXT,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    spans INTEGER NOT NULL,
    logs INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    revision INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX traces_by_start ON traces (start);
CREATE INDEX traces_by_session ON traces (session, start) WHERE session IS NOT NULL;
CREATE INDEX traces_by_service ON traces (service, start);

-- What the agent did in a trace, as it was computed at a revision.
CREATE TABLE summaries (trace BLOB PRIMARY KEY, revision INTEGER NOT NULL, summary TEXT NOT NULL) WITHOUT ROWID;
";

/// Makes the tables in an empty database; those of another version are dropped first.
pub(super) fn ensure(connection: &Connection) -> rusqlite::Result<()> {
    let have: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if have == VERSION {
        return Ok(());
    }
    connection.execute_batch(&format!(
        "BEGIN IMMEDIATE;
         DROP TABLE IF EXISTS covered; DROP TABLE IF EXISTS chunks; DROP TABLE IF EXISTS loose;
         DROP TABLE IF EXISTS traces; DROP TABLE IF EXISTS summaries;
         {TABLES}
         PRAGMA user_version = {VERSION};
         COMMIT;"
    ))
}
