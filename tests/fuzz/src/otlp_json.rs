//! OTLP/JSON: what is read is the same after a way through protobuf, and after it was written as JSON.

use spanbridge::otlp::{decode, encode};
use spanbridge::span::json::{self, Message};

use super::wire_scan::same_set;

/// Holds the law over these bytes.
pub fn run(data: &[u8]) {
    let Ok(message) = Message::parse(data) else { return };
    let _ = message.signal();
    let _ = message.metric_points();
    let (spans, logs) = message.into_parts();
    let again = decode::traces(&encode::traces(&spans.items)).expect("what is encoded decodes");
    assert!(again.refused.is_empty());
    same_set(&again.items, &spans.items);
    let again = json::traces(json::spans(&spans.items).to_string().as_bytes()).expect("what is written reads");
    assert!(again.refused.is_empty());
    same_set(&again.items, &spans.items);
    let again = decode::logs(&encode::logs(&logs.items)).expect("what is encoded decodes");
    same_set(&again.items, &logs.items);
    let again = json::logs(json::log_records(&logs.items).to_string().as_bytes()).expect("what is written reads");
    assert!(again.refused.is_empty());
    same_set(&again.items, &logs.items);
}
