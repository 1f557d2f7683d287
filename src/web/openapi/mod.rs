//! The API's operations, and their OpenAPI 3.1 document. Routes take their paths and rights from here.

mod operation;
// A table: a row a line.
#[rustfmt::skip]
mod parameters;
mod paths;
mod refusals;
mod schemas;

use serde_json::{Map, Value, json};

use operation::Path;
pub(crate) use operation::Verb;
pub(crate) use paths::*;

/// The paths of the API.
#[cfg(test)]
pub(crate) fn paths() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|path| path.path)
}

/// The methods and paths as text, one path per line.
pub(super) fn listed() -> String {
    let line = |path: &&Path| {
        let methods: Vec<String> = path.operations.iter().map(|of| of.verb.key().to_uppercase()).collect();
        format!("{} {}\n", methods.join(", "), path.path)
    };
    ALL.iter().map(line).collect()
}

/// The document.
pub(super) fn document() -> Value {
    let mut of_paths = Map::new();
    for path in ALL {
        let operations = path.operations.iter();
        let operations: Map<String, Value> = operations.map(|of| (of.verb.key().to_owned(), of.described())).collect();
        let _ = of_paths.insert(path.path.to_owned(), operations.into());
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "spanbridge",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The HTTP API: traces and documents of agent runs, OpenReward blocks, and documents to be stored. Every error has the body of the schema Error.",
            "license": {"name": "Apache-2.0 OR MIT", "identifier": "Apache-2.0 OR MIT"},
        },
        "security": [{}, {"token": []}],
        "paths": of_paths,
        "components": {
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "From `spanbridge token new`; needed where tokens are configured.",
                },
            },
            "schemas": schemas::all(),
        },
    })
}
