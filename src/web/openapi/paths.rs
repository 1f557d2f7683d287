//! Every path of the API with its operations. The pages for people have further paths.

use serde_json::json;

use super::operation::Verb::{Delete, Get, Post};
use super::operation::{Operation, Parameter, Path, Schema, Verb};
use super::parameters as of;
use super::parameters::{ORGANIZATION, STEP, TRACE_ID};
use super::refusals::{
    BLOCK_CONFLICT, BLOCKS_TOO_LARGE, BLOCKS_UNCHECKED, BUSY, DELETED, INVALID, NOT_FOUND, NOT_JSON, OF_DELETION, OF_IMPORT, OF_LIST,
    OF_NAMED, OF_ONE, OF_REVISION, RULE_BROKEN, Refusal, TIMEOUT, TOO_LARGE,
};
use super::schemas::{any, blocks, documents, named, new_blocks, object, text, written_blocks};
use crate::access::Right;

const JSON: &str = "application/json";
const NDJSON: &str = "application/x-ndjson";
const TEXT: &str = "text/plain";

type Media = &'static [(&'static str, Schema)];

const fn operation(verb: Verb, right: Option<Right>, id: &'static str, summary: &'static str, refusals: &'static [Refusal]) -> Operation {
    Operation {
        verb,
        right,
        id,
        summary,
        parameters: &[],
        body: &[],
        answer: (200, "", &[]),
        refusals,
    }
}

const fn open(id: &'static str, summary: &'static str, refusals: &'static [Refusal]) -> Operation {
    operation(Get, None, id, summary, refusals)
}

const fn read(id: &'static str, summary: &'static str, refusals: &'static [Refusal]) -> Operation {
    operation(Get, Some(Right::Read), id, summary, refusals)
}

impl Operation {
    const fn with(mut self, parameters: &'static [Parameter]) -> Self {
        self.parameters = parameters;
        self
    }

    const fn takes(mut self, body: Media) -> Self {
        self.body = body;
        self
    }

    const fn gives(self, description: &'static str, media: Media) -> Self {
        self.answers(200, description, media)
    }

    const fn answers(mut self, status: u16, description: &'static str, media: Media) -> Self {
        self.answer = (status, description, media);
        self
    }
}

/// Defines a static for each path, and `ALL` with all of them.
macro_rules! paths {
    ($($(#[$doc:meta])* $name:ident $path:literal [$($operation:expr),+ $(,)?])+) => {
        $($(#[$doc])* pub(crate) static $name: Path = Path { path: $path, operations: &[$($operation),+] };)+
        pub(super) static ALL: &[&Path] = &[$(&$name),+];
    };
}

paths! {
    HEALTH "/healthz" [open("health", "Whether the process answers", &[]).gives("It does.", &[(TEXT, text)])]

    READY "/readyz" [open("ready", "Whether it can store and read", &[BUSY]).gives("It can.", &[(TEXT, text)])]

    METRICS "/metrics" [
        operation(Get, Some(Right::Admin), "metrics", "Metrics in the Prometheus text format", &[]).gives("The metrics.", &[(TEXT, text)]),
    ]

    OPENAPI "/api/v1/openapi.json" [open("openapi", "This document", &[]).gives("The document.", &[(JSON, object)])]

    TRACES "/api/v1/traces" [
        read("traces", "Traces, newest first", OF_LIST)
            .with(&[of::OF_SERVICE, of::OF_SESSION, of::BY_ID, of::SINCE, of::UNTIL, of::LIMIT, of::AFTER, of::ORDER, of::SUMMARY])
            .gives("A page.", &[(JSON, || named("TracePage"))]),
    ]

    TRACE "/api/v1/traces/{trace_id}" [
        read("trace", "The spans and log records of a trace as OTLP/JSON", OF_ONE).with(&[TRACE_ID]).gives("OTLP/JSON.", &[(JSON, object)]),
        operation(
            Delete,
            Some(Right::Delete),
            "delete_trace",
            "Deletes a trace for good, and answers when its bytes are gone. What comes later for it is not stored",
            OF_DELETION,
        )
        .with(&[TRACE_ID, of::DRY_RUN])
        .gives("How much was deleted, or would be.", DELETED_MEDIA),
    ]

    /// People's notes, labels and scores.
    EVALUATIONS "/api/v1/traces/{trace_id}/evaluations" [
        operation(
            Post,
            Some(Right::Annotate),
            "evaluate",
            "Stores what a person judges of a run or of a step, as a span below it in OpenInference's words",
            &[INVALID, NOT_FOUND, TIMEOUT, DELETED, TOO_LARGE, NOT_JSON, RULE_BROKEN, BUSY],
        )
        .with(&[TRACE_ID])
        .takes(&[(JSON, || named("NewEvaluation"))])
        .answers(201, "It is on the disk.", &[(JSON, || named("Evaluation"))]),
    ]

    TRACE_DOCUMENT "/api/v1/traces/{trace_id}/{format}" [
        read("trace_document", "The document of a trace", OF_ONE)
            .with(&[TRACE_ID, of::FORMAT, of::DOCUMENTS, of::DAMAGED])
            .gives("The document.", &[(JSON, any), (NDJSON, text)]),
    ]

    RUNS "/api/v1/runs" [
        read("runs", "Runs of agents with what they did, by filters and words", OF_LIST).with(of::OF_RUNS).gives(
            "A page of at most 100: `runs`, and `next` where there are more. A search ends after 1.5 seconds: `searched_to_unix_nano` is the \
             start of the last trace that was searched, and `unsearched_bytes` what arrived and is not in the index of words yet.",
            &[(JSON, object)],
        ),
    ]

    RUNS_DOCUMENTS "/api/v1/runs/documents" [
        read("documents_of_runs", "The documents of all runs that filters select, oldest first", OF_NAMED).with(of::OF_ROWS).gives(
            "A document a line. The filters are those of `/api/v1/runs`.",
            &[(NDJSON, text)],
        ),
    ]

    COMPARE "/api/v1/compare" [
        read("compare_runs", "Two runs, step by step", OF_NAMED).with(of::RUNS).gives(
            "What `spanbridge compare A B --json` prints: `left`, `right`, where question and answer differ, and `steps`, each with `change`.",
            &[(JSON, object)],
        ),
    ]

    COMPARE_SETS "/api/v1/compare/sets" [
        read("compare_sets", "Two sets of runs, paired by what was asked", OF_NAMED).with(of::SETS).gives(
            "What `spanbridge compare A B --by question --json` prints, of runs that also pass the filters of `/api/v1/runs`, and `left_out`: whether a set has more than the 2,000 runs that are \
             compared, or than are read in 10 seconds.",
            &[(JSON, object)],
        ),
    ]

    COMPARE_SESSIONS "/api/v1/compare/sessions" [
        read("compare_sessions", "Two sessions, run by run, paired by what was asked", OF_NAMED).with(of::SESSIONS).gives(
            "What `spanbridge compare A B --by question --json` prints of two sets, and `left_out`: whether a session has more than the 200 runs \
             that are compared.",
            &[(JSON, object)],
        ),
    ]

    EVENTS "/api/v1/events" [
        read(
            "events",
            "Traces for which something arrived, as server-sent events: `changed` with their ids, `lost` where there are too many",
            OF_NAMED,
        )
        .with(&[of::OF_TRACE])
        .gives("Events, until the client leaves.", &[("text/event-stream", text)]),
    ]

    SKELETON "/api/v1/traces/{trace_id}/skeleton" [
        read("skeleton", "What an outline needs of all steps of a run, as columns", OF_ONE).with(&[TRACE_ID, of::SKELETON_AS, of::SKELETON_SINCE]).gives(
            "The columns. Their layout is described in the source of the pages.",
            &[
                ("application/vnd.spanbridge.skeleton", || json!({"type": "string", "format": "binary"})),
                (JSON, object),
            ],
        ),
    ]

    ROWS "/api/v1/traces/{trace_id}/rows" [
        read("rows", "Words for rows of the outline: what each step was asked and answered, or why it failed", OF_REVISION)
            .with(&[TRACE_ID, of::ROWS, of::REVISION])
            .gives("The words, in that order.", &[(JSON, || json!({"type": "array", "items": {"type": "string"}}))]),
    ]

    FIND "/api/v1/traces/{trace_id}/find" [
        read("find", "The rows of the outline whose names or payloads have these words, in any case", OF_REVISION)
            .with(&[TRACE_ID, of::WORDS, of::REVISION])
            .gives("`rows`, 10,000 at most, and `more`.", &[(JSON, object)]),
    ]

    RUN "/api/v1/traces/{trace_id}/run" [
        read("run", "The run with its totals and steps, as `spanbridge show --json` prints it", OF_ONE)
            .with(&[TRACE_ID])
            .gives("The run.", &[(JSON, object)]),
    ]

    MARKDOWN "/api/v1/traces/{trace_id}/markdown" [
        read("markdown", "The run as Markdown", OF_ONE).with(&[TRACE_ID]).gives("Markdown.", &[(TEXT, text)]),
    ]

    PAGE "/api/v1/traces/{trace_id}/page" [
        read("page", "The run as one HTML file that opens from disk", OF_ONE).with(&[TRACE_ID]).gives("The file.", &[("text/html", text)]),
    ]

    RUN_STEP "/api/v1/traces/{trace_id}/steps/{step}" [
        read("step", "One step of the run", OF_ONE).with(&[TRACE_ID, STEP]).gives("The step, as it is in the run.", &[(JSON, object)]),
    ]

    STEP_PART "/api/v1/traces/{trace_id}/steps/{step}/{part}" [
        read("step_part", "What went into a step, what came out, the step and all below it as Markdown, or a model call as a request to send again", OF_ONE)
            .with(&[TRACE_ID, STEP, of::PART, of::REQUEST_API, of::REQUEST_FORM])
            .gives("The whole value as text.", &[(TEXT, text)]),
    ]

    SESSIONS "/api/v1/sessions" [
        read("sessions", "Sessions, newest first", OF_LIST)
            .with(&[of::LIMIT, of::AFTER, of::SUMMARY])
            .gives("A page.", &[(JSON, || named("SessionPage"))]),
    ]

    SESSION "/api/v1/sessions/{session}" [
        operation(
            Delete,
            Some(Right::Delete),
            "delete_session",
            "Deletes all traces of a session and the log records that name it alone, as `delete_trace` does",
            OF_DELETION,
        )
        .with(&[of::SESSION, of::DRY_RUN])
        .gives("How much was deleted, or would be.", DELETED_MEDIA),
    ]

    SESSION_MARKDOWN "/api/v1/sessions/{session}/markdown" [
        read("session_markdown", "The runs of a session as Markdown, oldest first", OF_ONE)
            .with(&[of::SESSION, of::DAMAGED, of::SINCE, of::UNTIL])
            .gives("Markdown.", &[(TEXT, text)]),
    ]

    SESSION_PAGE "/api/v1/sessions/{session}/page" [
        read("session_page", "The runs of a session as one HTML file that opens from disk", OF_ONE)
            .with(&[of::SESSION, of::DAMAGED, of::SINCE, of::UNTIL])
            .gives("The file.", &[("text/html", text)]),
    ]

    SESSION_DOCUMENT "/api/v1/sessions/{session}/{format}" [
        read("session_document", "The document of a session's runs together", OF_ONE)
            .with(&[of::SESSION, of::FORMAT, of::DOCUMENTS, of::DAMAGED, of::SINCE, of::UNTIL])
            .gives("The document.", &[(JSON, any), (NDJSON, text)]),
    ]

    IMPORT "/api/v1/import" [
        operation(Post, Some(Right::Ingest), "import_any", "Stores documents as spans; each format is recognised", OF_IMPORT)
            .takes(&[(JSON, documents), (NDJSON, text)])
            .gives("They are on the disk.", IMPORTED_MEDIA),
    ]

    IMPORT_OF_FORMAT "/api/v1/import/{format}" [
        operation(Post, Some(Right::Ingest), "import_documents", "Stores documents of a format as spans", OF_IMPORT)
            .with(&[of::IMPORTED_FORMAT])
            .takes(&[(JSON, documents), (NDJSON, text)])
            .gives("They are on the disk.", IMPORTED_MEDIA),
    ]

    BLOCKS "/v1/organizations/{org}/traces/{trace_id}/blocks" [
        read("blocks", "The blocks of a trace in insertion order", OF_ONE).with(BLOCKS_OF).gives("The blocks.", &[(JSON, blocks)]),
        operation(
            Post,
            Some(Right::Ingest),
            "add_blocks",
            "Adds a block, or a list of blocks as a whole",
            &[
                INVALID, NOT_FOUND, TIMEOUT, BLOCK_CONFLICT, DELETED, BLOCKS_TOO_LARGE, NOT_JSON, RULE_BROKEN, BLOCKS_UNCHECKED, BUSY,
            ],
        )
        .with(BLOCKS_OF)
        .takes(&[(JSON, new_blocks)])
        .answers(201, "What was stored: a block for a block, a list for a list.", &[(JSON, written_blocks)]),
    ]

    STITCHED_BLOCKS "/v1/organizations/{org}/traces/{trace_id}/blocks.stitched" [
        read("stitched_blocks", "The blocks of a trace as a tree", OF_ONE)
            .with(BLOCKS_OF)
            .gives("The tree.", &[(JSON, || named("Stitched"))]),
    ]
}

const BLOCKS_OF: &[Parameter] = &[ORGANIZATION, of::BLOCKS_TRACE_ID];
const DELETED_MEDIA: Media = &[(JSON, || named("Deleted"))];
const IMPORTED_MEDIA: Media = &[(JSON, || named("Imported"))];
