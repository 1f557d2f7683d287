//! What Langfuse gives out: a trace with its observations (its API and the download of its page), and observations alone (its API's
//! pages, its batch exports). Each observation is a span with the attributes that Langfuse's own exporter writes.

use serde_json::{Map, Value, json};

use super::pieces::{Attributes, id, list, nanos, pairs, status_number, with_rest};
use crate::hash::{HashMap, HashSet};

/// The scope of spans of Langfuse's own SDK.
const SCOPE: &str = "langfuse-sdk";

/// What becomes a separate attribute, or a field of the span; also under `snake_case`, as batch exports have it.
const READ: &[&str] = &[
    "id",
    "traceId",
    "parentObservationId",
    "type",
    "name",
    "startTime",
    "endTime",
    "completionStartTime",
    "input",
    "output",
    "model",
    "providedModelName",
    "modelParameters",
    "usageDetails",
    "usage",
    "costDetails",
    "calculatedTotalCost",
    "promptName",
    "promptVersion",
    "level",
    "statusMessage",
    "metadata",
];

/// The same of a trace; its lists become spans and events.
const READ_OF_TRACE: &[&str] = &[
    "id",
    "timestamp",
    "name",
    "input",
    "output",
    "userId",
    "sessionId",
    "release",
    "version",
    "environment",
    "tags",
    "metadata",
    "observations",
    "scores",
];

/// The same of a score.
const READ_OF_SCORE: &[&str] = &[
    "id",
    "traceId",
    "observationId",
    "name",
    "value",
    "stringValue",
    "comment",
    "timestamp",
];

/// Whether a value is an observation.
pub(super) fn is_observation(value: &Value) -> bool {
    let has = |name: &str| get(value, name).is_some_and(Value::is_string);
    has("traceId") && has("startTime") && has("type") && has("id")
}

/// A trace with its observations: either beside its own fields, or beside a `trace` that has them.
pub(super) fn of_trace(value: &Value) -> Option<Vec<Value>> {
    let observations = value.get("observations")?.as_array()?;
    let (trace, beside) = value.get("trace").map_or((value, None), |trace| (trace, Some(value)));
    let trace_id = trace.get("id")?.as_str()?;
    if !observations.iter().all(is_observation) {
        return None;
    }
    let own_id = |value| get(value, "id").and_then(Value::as_str);
    let ids: HashSet<&str> = observations.iter().filter_map(own_id).collect();
    // The observation above may be one of another service, which is not in the export.
    let is_root = |value: &Value| {
        let parent = get(value, "parentObservationId").and_then(Value::as_str);
        parent.is_none_or(|parent| !ids.contains(parent))
    };
    let roots: HashSet<&str> = observations.iter().filter(|one| is_root(one)).filter_map(own_id).collect();
    let only_root = roots.iter().next().copied().filter(|_| roots.len() == 1);
    let made_root = only_root.is_none().then_some(trace_id);
    let mut scores: HashMap<Option<&str>, Vec<Value>> = HashMap::default();
    for score in list(trace, "scores").chain(beside.into_iter().flat_map(|beside| list(beside, "scores"))) {
        let of = get(score, "observationId").and_then(Value::as_str).filter(|of| ids.contains(of));
        scores.entry(of.or(only_root)).or_default().extend(evaluation(score));
    }
    let mut spans: Vec<Value> = Vec::with_capacity(observations.len() + 1);
    let alone = |span: Value| json!({"scopeSpans": [{"scope": {"name": SCOPE}, "spans": [span]}]});
    if let Some(root) = made_root {
        let times = |name: &'static str| observations.iter().filter_map(move |one| get(one, name)?.as_str());
        let start = get(trace, "timestamp").and_then(Value::as_str).or_else(|| times("startTime").min());
        let mut attributes = Attributes::default();
        attributes.text("langfuse.observation.type", "span");
        about_trace(trace, &mut attributes);
        spans.push(alone(json!({
            "traceId": id(trace_id, 32),
            "spanId": id(root, 16),
            "name": get(trace, "name").and_then(Value::as_str).unwrap_or("trace"),
            "startTimeUnixNano": start.and_then(nanos),
            "endTimeUnixNano": times("endTime").max().or(start).and_then(nanos),
            "attributes": attributes.0,
            "events": scores.remove(&None),
        })));
    }
    for observation in observations {
        let mut of_resource = of_observation(observation)?;
        if let Some(span) = of_resource.pointer_mut("/scopeSpans/0/spans/0").and_then(Value::as_object_mut) {
            let own = own_id(observation);
            if own == only_root
                && let Some(Value::Array(list)) = span.get_mut("attributes")
            {
                let mut attributes = Attributes::default();
                about_trace(trace, &mut attributes);
                list.append(&mut attributes.0);
            }
            if let Some(root) = made_root.filter(|_| own.is_some_and(|own| roots.contains(own))) {
                span.insert("parentSpanId".to_owned(), id(root, 16).into());
            }
            span.insert("events".to_owned(), scores.remove(&own).into());
        }
        spans.push(of_resource);
    }
    // The made root is of the process that all the others are of.
    let resource = |of_resource: &Value| of_resource.get("resource").cloned();
    let first = spans.get(usize::from(made_root.is_some())).and_then(resource);
    if made_root.is_some()
        && spans.iter().skip(1).all(|other| resource(other) == first)
        && let Some(root) = spans.first_mut().and_then(Value::as_object_mut)
    {
        root.extend(first.map(|first| ("resource".to_owned(), first)));
    }
    Some(spans)
}

/// An observation without its trace.
pub(super) fn of_observation_alone(value: &Value) -> Option<Vec<Value>> {
    let of_resource = is_observation(value).then(|| of_observation(value))??;
    Some(vec![of_resource])
}

/// The span in its scope, of its resource.
fn of_observation(value: &Value) -> Option<Value> {
    let text = |name: &str| get(value, name).and_then(Value::as_str);
    let mut attributes = Attributes::default();
    attributes.text("langfuse.observation.type", &text("type")?.to_ascii_lowercase());
    for (name, key) in [
        ("input", "langfuse.observation.input"),
        ("output", "langfuse.observation.output"),
        ("modelParameters", "langfuse.observation.model.parameters"),
        ("promptName", "langfuse.observation.prompt.name"),
        ("completionStartTime", "langfuse.observation.completion_start_time"),
        ("level", "langfuse.observation.level"),
        ("statusMessage", "langfuse.observation.status_message"),
    ] {
        attributes.json(key, get(value, name));
    }
    attributes.json(
        "langfuse.observation.model.name",
        get(value, "model").or_else(|| get(value, "providedModelName")),
    );
    attributes.value("langfuse.observation.prompt.version", get(value, "promptVersion"));
    let is_filled = |value: &&Value| value.as_object().is_some_and(|map| !map.is_empty());
    let details = |name: &str| get(value, name).filter(is_filled);
    attributes.json(
        "langfuse.observation.usage_details",
        details("usageDetails").or_else(|| details("usage")),
    );
    let total = || get(value, "calculatedTotalCost").map(|total| json!({"total": total}));
    let cost = details("costDetails").cloned().or_else(total);
    attributes.json("langfuse.observation.cost_details", cost.as_ref());
    let sent = Sent::new(get(value, "metadata"));
    attributes.members("langfuse.observation.metadata.", sent.others.as_ref());
    attributes.0.extend(pairs(sent.attributes.as_ref()));
    with_rest(
        value,
        |name| READ.contains(&camel(name).as_str()),
        "langfuse.observation.",
        &mut attributes,
    );
    let start = text("startTime")?;
    let is_error = text("level") == Some("ERROR");
    let span = json!({
        "traceId": id(text("traceId")?, 32),
        "spanId": id(text("id")?, 16),
        "parentSpanId": text("parentObservationId").map(|parent| id(parent, 16)),
        "name": text("name").or(text("type")),
        "startTimeUnixNano": nanos(start)?,
        // An event has no end, and neither has what had not ended when it was exported.
        "endTimeUnixNano": match text("endTime") {
            Some(end) => nanos(end),
            None if text("type") == Some("EVENT") => nanos(start),
            None => None,
        },
        "attributes": attributes.0,
        "status": {"code": if is_error { status_number("ERROR") } else { 0 }, "message": text("statusMessage").filter(|_| is_error)},
    });
    let scope = sent.scope.unwrap_or_else(|| json!({ "name": SCOPE }));
    let scope = json!({"name": scope.get("name"), "version": scope.get("version"), "attributes": pairs(scope.get("attributes"))});
    let scopes = json!([{"scope": scope, "spans": [span]}]);
    Some(match sent.resource {
        Some(resource) => json!({"resource": {"attributes": pairs(Some(&resource))}, "scopeSpans": scopes}),
        None => json!({ "scopeSpans": scopes }),
    })
}

/// What Langfuse keeps in the metadata of an observation that came by OTLP. It takes some attributes out, and gives their values as its
/// own fields.
#[derive(Default)]
struct Sent {
    attributes: Option<Value>,
    scope: Option<Value>,
    resource: Option<Value>,
    others: Option<Value>,
}

impl Sent {
    fn new(metadata: Option<&Value>) -> Self {
        let opened = |value: Value| match &value {
            Value::String(text) if text.starts_with('{') => serde_json::from_str(text).unwrap_or(value),
            _ => value,
        };
        let Some(Value::Object(mut others)) = metadata.cloned().map(opened) else {
            return Self {
                others: metadata.cloned(),
                ..Self::default()
            };
        };
        let mut take = |name: &str, is_it: &dyn Fn(&Map<String, Value>) -> bool| {
            let found = opened(others.get(name)?.clone());
            found.as_object().filter(|map| is_it(map))?;
            let _ = others.remove(name);
            Some(found)
        };
        let attributes = take("attributes", &|map| map.keys().any(|key| key.contains('.')));
        let scope = take("scope", &|map| map.get("name").is_some_and(Value::is_string));
        let resource = take("resourceAttributes", &|map| map.keys().any(|key| key.contains('.')));
        Self {
            attributes,
            scope,
            resource,
            others: Some(Value::Object(others)),
        }
    }
}

fn about_trace(trace: &Value, attributes: &mut Attributes) {
    for (name, key) in [
        ("name", "langfuse.trace.name"),
        ("input", "langfuse.trace.input"),
        ("output", "langfuse.trace.output"),
        ("userId", "user.id"),
        ("sessionId", "session.id"),
        ("release", "langfuse.release"),
        ("version", "langfuse.version"),
        ("environment", "langfuse.environment"),
    ] {
        attributes.json(key, get(trace, name));
    }
    attributes.value(
        "langfuse.trace.tags",
        trace
            .get("tags")
            .filter(|tags| tags.as_array().is_some_and(|tags| !tags.is_empty())),
    );
    attributes.members("langfuse.trace.metadata.", get(trace, "metadata"));
    with_rest(
        trace,
        |name| READ_OF_TRACE.contains(&camel(name).as_str()),
        "langfuse.trace.",
        attributes,
    );
}

/// A score as the event that OpenTelemetry has for evaluations.
fn evaluation(score: &Value) -> Option<Value> {
    let mut attributes = Attributes::default();
    attributes.text("gen_ai.evaluation.name", score.get("name")?.as_str()?);
    match score.get("value") {
        Some(number @ Value::Number(_)) => attributes.value("gen_ai.evaluation.score.value", Some(number)),
        other => attributes.json("gen_ai.evaluation.score.label", other.filter(|value| value.is_string())),
    }
    attributes.json("gen_ai.evaluation.score.label", get(score, "stringValue"));
    attributes.json("gen_ai.evaluation.explanation", get(score, "comment"));
    with_rest(
        score,
        |name| READ_OF_SCORE.contains(&camel(name).as_str()),
        "langfuse.score.",
        &mut attributes,
    );
    let time = get(score, "timestamp").and_then(Value::as_str).and_then(nanos);
    Some(json!({"name": "gen_ai.evaluation.result", "timeUnixNano": time, "attributes": attributes.0}))
}

/// A member that is not null, in either spelling.
fn get<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    let map: &Map<String, Value> = value.as_object()?;
    map.get(name).or_else(|| map.get(&snake(name))).filter(|value| !value.is_null())
}

fn snake(name: &str) -> String {
    let spaced = name.chars().flat_map(|char| {
        let before = char.is_ascii_uppercase().then_some('_');
        before.into_iter().chain(std::iter::once(char.to_ascii_lowercase()))
    });
    spaced.collect()
}

fn camel(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut is_next_upper = false;
    for char in name.chars() {
        match char {
            '_' => is_next_upper = true,
            _ if is_next_upper => {
                out.push(char.to_ascii_uppercase());
                is_next_upper = false;
            }
            _ => out.push(char),
        }
    }
    out
}
