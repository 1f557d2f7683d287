//! Refusals of operations: status and meaning. Each has the body of the schema `Error`.

/// Status and description.
#[derive(Debug)]
pub(super) struct Refusal(pub(super) u16, pub(super) &'static str);

pub(super) const INVALID: Refusal = Refusal(400, "The path, a parameter or the body cannot be read (`INVALID`).");
pub(super) const NO_TOKEN: Refusal = Refusal(401, "A token is needed, or it is unknown (`UNAUTHORIZED`).");
pub(super) const FORBIDDEN: Refusal = Refusal(
    403,
    "The token lacks the right, or the request comes from a page or for a name that is not allowed (`FORBIDDEN`).",
);
pub(super) const NOT_FOUND: Refusal = Refusal(404, "It is not there (`NOT_FOUND`).");
pub(super) const TIMEOUT: Refusal = Refusal(408, "The body came too slowly (`TIMEOUT`).");
pub(super) const CHANGED: Refusal = Refusal(409, "The trace changed since that revision (`CHANGED`).");
pub(super) const BLOCK_CONFLICT: Refusal = Refusal(
    409,
    "`PARENT_SUBTYPE_MISMATCH`, `DUPLICATE_CALL_ID`, `DUPLICATE_RESULT_SEQ` or `TRACE_RECORDED`.",
);
pub(super) const DELETED: Refusal = Refusal(410, "It was deleted on request (`DELETED`).");
pub(super) const TOO_MUCH_MEMORY: Refusal = Refusal(413, "It takes more memory than all requests may (`TOO_LARGE`).");
pub(super) const TOO_LARGE: Refusal = Refusal(413, "The request is too large (`TOO_LARGE`).");
pub(super) const BLOCKS_TOO_LARGE: Refusal = Refusal(
    413,
    "A limit is exceeded (`PAYLOAD_TOO_LARGE`), or the request is too large (`TOO_LARGE`).",
);
pub(super) const NOT_JSON: Refusal = Refusal(415, "Not JSON, or an unknown compression (`UNSUPPORTED_MEDIA_TYPE`).");
pub(super) const RULE_BROKEN: Refusal = Refusal(422, "A rule is broken (`VALIDATION`); `details` has the place.");
pub(super) const HEAD_TOO_LARGE: Refusal = Refusal(431, "The head of the request is too large (`HEADERS`).");
pub(super) const DAMAGED: Refusal = Refusal(
    500,
    "The trace is damaged on the disk (`DAMAGED`), or the response could not be made (`INTERNAL`).",
);
pub(super) const DELETION_FAILED: Refusal = Refusal(500, "The deletion failed (`INTERNAL`).");
pub(super) const BLOCKS_UNCHECKED: Refusal = Refusal(500, "The blocks could not be checked (`INTERNAL`).");
pub(super) const BUSY: Refusal = Refusal(503, "Overload or shutdown; `Retry-After` has the seconds to wait.");
pub(super) const DISK_FULL: Refusal = Refusal(503, "The disk is full (`NOT_STORED`): what was begun goes on at the next start.");

/// Refusals of a list.
pub(super) const OF_LIST: &[Refusal] = &[INVALID, TOO_MUCH_MEMORY, DAMAGED, BUSY];
/// Refusals of what query parameters name.
pub(super) const OF_NAMED: &[Refusal] = &[INVALID, NOT_FOUND, TOO_MUCH_MEMORY, DAMAGED, BUSY];
/// Refusals of a trace or a session.
pub(super) const OF_ONE: &[Refusal] = &[INVALID, NOT_FOUND, DELETED, TOO_MUCH_MEMORY, DAMAGED, BUSY];
/// Refusals of a run's rows at a revision.
pub(super) const OF_REVISION: &[Refusal] = &[INVALID, NOT_FOUND, CHANGED, DELETED, TOO_MUCH_MEMORY, DAMAGED, BUSY];
/// Refusals of a deletion.
pub(super) const OF_DELETION: &[Refusal] = &[INVALID, NOT_FOUND, DELETED, DELETION_FAILED, DISK_FULL];
/// Refusals of an import.
pub(super) const OF_IMPORT: &[Refusal] = &[INVALID, NOT_FOUND, TIMEOUT, TOO_LARGE, NOT_JSON, RULE_BROKEN, BUSY];
