//! Converts objects of the console exporters to OTLP/JSON.

use serde_json::{Value, json};

use super::cut::Cut;
use super::shown::Shown;

/// The export request of a span or a log record; `None` if it is neither. Truncated places are added to `cut`.
pub(super) fn request<'c>(shown: &'c Shown, cut: &'c mut Cut) -> Option<Value> {
    let mut pairs = Pairs { cut, way: Vec::new() };
    let resource = pairs.of(
        shown.get("resource").and_then(|resource| resource.get("attributes")),
        "resource.attributes",
    );
    let resource = json!({"attributes": resource.list, "droppedAttributesCount": resource.dropped});
    // JSON of other tools may have members of these names, but no scope.
    let scope = shown.get("instrumentationScope").or_else(|| shown.get("instrumentationLibrary"))?;
    let scope = json!({"name": text(scope, "name"), "version": text(scope, "version")});
    if shown.get("duration").is_some() {
        let span = span(shown, &mut pairs)?;
        return Some(json!({"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": scope, "spans": [span]}]}]}));
    }
    let record = record(shown, &mut pairs)?;
    Some(json!({"resourceLogs": [{"resource": resource, "scopeLogs": [{"scope": scope, "logRecords": [record]}]}]}))
}

fn text(shown: &Shown, key: &str) -> Option<String> {
    shown.get(key)?.text().map(str::to_owned)
}

fn span<'c>(shown: &'c Shown, pairs: &mut Pairs<'c>) -> Option<Value> {
    let start = nanos(shown.get("timestamp")?)?;
    let end = start.saturating_add(nanos(shown.get("duration")?)?);
    let parent = text(shown, "parentId").or_else(|| text(shown.get("parentSpanContext")?, "spanId"));
    let attributes = pairs.of(shown.get("attributes"), "attributes");
    let mut events = Vec::new();
    for event in shown.get("events").map(Shown::items).unwrap_or_default() {
        let attributes = pairs.of(event.get("attributes"), "events.attributes");
        let time = match event.get("time").map(Shown::items) {
            Some([seconds, nanos]) => whole(seconds)?.saturating_mul(1_000_000_000).saturating_add(whole(nanos)?),
            _ => {
                pairs.cut("events.time");
                0
            }
        };
        let dropped = count(event, "droppedAttributesCount") + attributes.dropped;
        events.push(
            json!({"name": text(event, "name"), "timeUnixNano": time.to_string(), "attributes": attributes.list,
            "droppedAttributesCount": dropped}),
        );
    }
    let mut links = Vec::new();
    for link in shown.get("links").map(Shown::items).unwrap_or_default() {
        let Some(context) = link.get("context").filter(|context| context.get("spanId").is_some()) else {
            pairs.cut("links.context");
            continue;
        };
        let attributes = pairs.of(link.get("attributes"), "links.attributes");
        links.push(
            json!({"traceId": text(context, "traceId"), "spanId": text(context, "spanId"), "attributes": attributes.list,
            "droppedAttributesCount": attributes.dropped}),
        );
    }
    if let Some(Shown::List(_, true)) = shown.get("events") {
        pairs.cut("events");
    }
    if let Some(Shown::List(_, true)) = shown.get("links") {
        pairs.cut("links");
    }
    let status = shown.get("status");
    Some(json!({
        "traceId": text(shown, "traceId")?,
        "spanId": text(shown, "id")?,
        "parentSpanId": parent,
        "traceState": text(shown, "traceState"),
        "name": text(shown, "name"),
        // OTLP's span kinds start at 1; 0 means unspecified.
        "kind": shown.get("kind").and_then(whole).map_or(0, |kind| kind + 1),
        "startTimeUnixNano": start.to_string(),
        "endTimeUnixNano": end.to_string(),
        "attributes": attributes.list,
        "droppedAttributesCount": count(shown, "droppedAttributesCount") + attributes.dropped,
        "events": events,
        "links": links,
        "status": {"code": status.and_then(|status| whole(status.get("code")?)).unwrap_or_default(),
            "message": status.and_then(|status| text(status, "message"))},
    }))
}

fn record<'c>(shown: &'c Shown, pairs: &mut Pairs<'c>) -> Option<Value> {
    let at = nanos(shown.get("timestamp")?)?;
    let attributes = pairs.of(shown.get("attributes"), "attributes");
    let body = shown.get("body").and_then(|body| pairs.any(body, "body"));
    Some(json!({
        "timeUnixNano": at.to_string(),
        "traceId": text(shown, "traceId"),
        "spanId": text(shown, "spanId"),
        "eventName": text(shown, "eventName"),
        "severityNumber": shown.get("severityNumber").and_then(whole).unwrap_or_default(),
        "severityText": text(shown, "severityText"),
        "body": body,
        "attributes": attributes.list,
        "droppedAttributesCount": attributes.dropped,
    }))
}

fn whole(shown: &Shown) -> Option<u64> {
    match shown {
        Shown::Number(number) => number.parse().ok(),
        _ => None,
    }
}

fn count(shown: &Shown, key: &str) -> u64 {
    shown.get(key).and_then(whole).unwrap_or_default()
}

/// Nanoseconds from microseconds with an optional fraction.
fn nanos(shown: &Shown) -> Option<u64> {
    let Shown::Number(number) = shown else { return None };
    let (micros, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits: String = fraction.chars().chain("000".chars()).take(3).collect();
    micros.parse::<u64>().ok()?.checked_mul(1_000)?.checked_add(digits.parse().ok()?)
}

/// Attributes in OTLP/JSON.
struct Pairs<'c> {
    cut: &'c mut Cut,
    /// Keys that lead to the value being written.
    way: Vec<&'c str>,
}

struct Attributes {
    list: Vec<Value>,
    /// Attributes whose values were truncated away.
    dropped: u64,
}

impl<'c> Pairs<'c> {
    fn cut(&mut self, place: &'c str) {
        self.way.push(place);
        self.cut.add(&self.way);
        self.way.pop();
    }

    fn of(&mut self, shown: Option<&'c Shown>, place: &'c str) -> Attributes {
        self.way.push(place);
        let attributes = self.members(shown);
        self.way.pop();
        attributes
    }

    fn members(&mut self, shown: Option<&'c Shown>) -> Attributes {
        let mut out = Attributes {
            list: Vec::new(),
            dropped: 0,
        };
        match shown {
            Some(Shown::Object(members)) => {
                for (key, value) in members {
                    match self.any(value, key) {
                        Some(value) => out.list.push(json!({"key": key, "value": value})),
                        // The SDK accepts no attribute without a value, so `undefined` is not a lost one.
                        None => out.dropped += u64::from(*value != Shown::Undefined),
                    }
                }
            }
            Some(Shown::Cut) => self.cut.add(&self.way),
            _ => {}
        }
        out
    }

    /// Converts a value; `None` if node shows none.
    fn any(&mut self, shown: &'c Shown, place: &'c str) -> Option<Value> {
        Some(match shown {
            Shown::Undefined => return None,
            Shown::Null => json!({}),
            Shown::Bool(bool) => json!({"boolValue": bool}),
            Shown::Number(number) => match number.parse::<i64>() {
                Ok(number) => json!({"intValue": number.to_string()}),
                Err(_) => match number.parse::<f64>() {
                    Ok(number) if number.is_finite() => json!({"doubleValue": number}),
                    _ => json!({"doubleValue": number}),
                },
            },
            Shown::Text(text, is_cut) => {
                if *is_cut {
                    self.cut(place);
                }
                json!({"stringValue": text})
            }
            Shown::List(items, is_cut) => {
                if *is_cut {
                    self.cut(place);
                }
                let values: Vec<Value> = items
                    .iter()
                    .map(|item| self.any(item, place).unwrap_or_else(|| json!({})))
                    .collect();
                json!({"arrayValue": {"values": values}})
            }
            Shown::Object(_) => {
                let inner = self.of(Some(shown), place);
                json!({"kvlistValue": {"values": inner.list}})
            }
            Shown::Cut => {
                self.cut(place);
                return None;
            }
        })
    }
}
