//! Descriptions of paths and operations for the API's document.

use axum::routing::MethodRouter;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::refusals::{FORBIDDEN, HEAD_TOO_LARGE, NO_TOKEN, Refusal};
use crate::access::Right;
use crate::web::answer::Answer;
use crate::web::reply::{self, Outcome};
use crate::web::request::Asked;
use crate::web::route::Route;
use crate::web::service::Web;

/// A path of the API with its operations.
#[derive(Debug)]
pub(crate) struct Path {
    /// With `{names}` for variable parts.
    pub(crate) path: &'static str,
    pub(super) operations: &'static [Operation],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    Post,
    Delete,
}

impl Verb {
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Delete => "delete",
        }
    }
}

/// A value's JSON Schema.
pub(super) type Schema = fn() -> Value;

/// One method of a path.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) verb: Verb,
    /// The required right; `None`: open to anyone, and reveals no data.
    pub(super) right: Option<Right>,
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    pub(super) parameters: &'static [Parameter],
    /// The request body, by media type.
    pub(super) body: &'static [(&'static str, Schema)],
    /// Status, description, and content by media type.
    pub(super) answer: (u16, &'static str, &'static [(&'static str, Schema)]),
    /// In addition to those implied by the right.
    pub(super) refusals: &'static [Refusal],
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) place: Place,
    pub(super) description: &'static str,
    pub(super) schema: Schema,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Path,
    Query,
    /// In the query, and required.
    RequiredQuery,
}

impl Path {
    /// The route for reading it. Other methods are refused with the list of allowed ones.
    pub(crate) fn reads<T: DeserializeOwned + Send + 'static>(
        &self,
        make: impl Fn(&Web, T, &Asked, &mut Answer) -> Outcome + Clone + Send + Sync + 'static,
    ) -> Route {
        Route::reads(self.path, self.right(Verb::Get), self.allow(), make)
    }

    /// A route that reads nothing that is stored. If there is no GET, reading is refused.
    pub(crate) fn bare(&self, methods: MethodRouter) -> Route {
        let right = match self.operation(Verb::Get) {
            Some(operation) => operation.right,
            None => Some(Right::Read),
        };
        Route::bare(self.path, right, self.allow(), methods)
    }

    /// The right that a method requires.
    pub(crate) fn right(&self, verb: Verb) -> Option<Right> {
        self.operation(verb).and_then(|operation| operation.right)
    }

    fn operation(&self, verb: Verb) -> Option<&Operation> {
        self.operations.iter().find(|operation| operation.verb == verb)
    }

    /// The header `Allow`.
    fn allow(&self) -> &'static str {
        let has = |verb| self.operation(verb).is_some();
        match (has(Verb::Get), has(Verb::Post), has(Verb::Delete)) {
            (true, true, _) => reply::GET_AND_POST,
            (true, false, true) => reply::GET_AND_DELETE,
            (false, true, _) => reply::POST,
            (false, false, true) => reply::DELETE,
            (_, false, false) => reply::GET,
        }
    }
}

impl Operation {
    pub(super) fn described(&self) -> Value {
        let summary = match self.right {
            Some(right) => format!("{} (right `{}`)", self.summary, right.name()),
            None => self.summary.to_owned(),
        };
        let mut described = json!({"operationId": self.id, "summary": summary});
        let mut with = |key: &str, value: Value| described.as_object_mut().map(|described| described.insert(key.to_owned(), value));
        if self.right.is_none() {
            let _ = with("security", json!([]));
        }
        if !self.parameters.is_empty() {
            let _ = with("parameters", self.parameters.iter().map(Parameter::described).collect());
        }
        if !self.body.is_empty() {
            let _ = with("requestBody", json!({"required": true, "content": content(self.body)}));
        }
        let (status, description, media) = self.answer;
        let mut responses = Map::new();
        let _ = responses.insert(status.to_string(), json!({"description": description, "content": content(media)}));
        let of_right = self.right.map(|_| &NO_TOKEN);
        for Refusal(status, description) in self.refusals.iter().chain(of_right).chain([&FORBIDDEN, &HEAD_TOO_LARGE]) {
            let error = json!({"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}});
            let _ = responses.insert(status.to_string(), json!({"description": description, "content": error}));
        }
        responses.sort_keys();
        let _ = with("responses", responses.into());
        described
    }
}

impl Parameter {
    fn described(&self) -> Value {
        json!({
            "name": self.name,
            "in": if self.place == Place::Path { "path" } else { "query" },
            "required": self.place != Place::Query,
            "description": self.description,
            "schema": (self.schema)(),
        })
    }
}

fn content(media: &[(&str, Schema)]) -> Value {
    let of = media.iter().map(|(kind, schema)| ((*kind).to_owned(), json!({"schema": schema()})));
    Value::Object(of.collect())
}
