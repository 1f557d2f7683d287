//! The tables.

use rusqlite::Connection;

/// Raised when the tables change: an index of another version is rebuilt from the log.
pub(super) const VERSION: i64 = 5;

const TABLES: &str = "
-- Up to where the log is covered, and up to which id of traces the table ids knows all.
CREATE TABLE covered (segment INTEGER NOT NULL, offset INTEGER NOT NULL, sorted INTEGER NOT NULL);
INSERT INTO covered VALUES (0, 0, 0);

-- Where the chunks of each trace are. trace: its id in traces. kind: 1 spans, 2 log records. checksum: of the message, as
-- in the record's head; a chunk that came again has the same, and then the bytes tell.
CREATE TABLE chunks (
    trace INTEGER NOT NULL,
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

-- One row a trace, in order of arrival. Times in nanoseconds since 1970. revision counts chunks; what readers know as the revision of
-- a trace is the sum of it and the revision of its session.
CREATE TABLE traces (
    id INTEGER PRIMARY KEY,
    trace BLOB NOT NULL,
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
);
CREATE INDEX traces_by_start ON traces (start, service);
CREATE INDEX traces_by_session ON traces (session, start) WHERE session IS NOT NULL;

-- The services of traces, but for those in their rows: most traces have no other.
CREATE TABLE services (service TEXT NOT NULL, trace INTEGER NOT NULL, PRIMARY KEY (service, trace)) WITHOUT ROWID;
CREATE INDEX services_by_trace ON services (trace);

-- Counts the log records without a trace that came for a session while a trace named it: each changes what all traces of the session
-- say. Where there is no row, it is 0. What a trace's own revision is added to must not change with the session that it names, so the
-- difference goes into its own revision then, which may be negative.
CREATE TABLE session_revisions (session TEXT PRIMARY KEY, revision INTEGER NOT NULL) WITHOUT ROWID;

-- The id of a trace. Trace ids are random, and a page of the file would be written for each if they came here at once: they
-- come many at a time, in order. Until then they are found among the last rows of traces. Where a row is gone, its id may
-- still be here, or be another trace's.
CREATE TABLE ids (trace BLOB PRIMARY KEY, id INTEGER NOT NULL) WITHOUT ROWID;

-- What the agent did in a trace, as it was computed at a revision.
CREATE TABLE summaries (trace BLOB PRIMARY KEY, revision INTEGER NOT NULL, summary TEXT NOT NULL) WITHOUT ROWID;
";

/// Where the last record of each sealed segment ends, as an offset in the raw segment: this shows whether a segment was cut.
/// Earlier versions ignore the table, so it needs no new version.
const ENDS: &str = "CREATE TABLE IF NOT EXISTS ends (segment INTEGER PRIMARY KEY, offset INTEGER NOT NULL);";

/// The version of the existing tables; 0: there are none.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Creates the tables; those of another version are dropped first.
pub(super) fn ensure(connection: &Connection) -> rusqlite::Result<()> {
    if version(connection)? == VERSION {
        return connection.execute_batch(ENDS);
    }
    connection.execute_batch(&format!(
        "BEGIN IMMEDIATE;
         DROP TABLE IF EXISTS covered; DROP TABLE IF EXISTS chunks; DROP TABLE IF EXISTS loose;
         DROP TABLE IF EXISTS traces; DROP TABLE IF EXISTS ids; DROP TABLE IF EXISTS summaries;
         DROP TABLE IF EXISTS ends; DROP TABLE IF EXISTS session_revisions; DROP TABLE IF EXISTS services;
         {TABLES}
         {ENDS}
         PRAGMA user_version = {VERSION};
         COMMIT;"
    ))
}
