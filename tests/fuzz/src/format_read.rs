//! Documents of every format as they may come from elsewhere: what is read is written, and reads as the same.

use serde_json::Value;
use spanbridge::formats::{Format, contextforge, invariant, openreward, reflex, synth};

/// Holds the law: the first byte chooses the format, the rest is the document.
pub fn run(data: &[u8]) {
    let Some((format, text)) = data.split_first() else { return };
    match format % 5 {
        0 => drop(read::<contextforge::ContextForge>(text)),
        1 => drop(read::<reflex::Reflex>(text)),
        2 => blocks(text),
        3 => drop(read::<synth::Synth>(text)),
        _ => drop(read::<invariant::Invariant>(text)),
    }
}

fn read<F: Format>(text: &[u8]) -> Option<F::Document<'static>> {
    let document: F::Document<'static> = serde_json::from_slice(text).ok()?;
    let once: Value = serde_json::to_value(&document).expect("a document serializes");
    let again: F::Document<'static> = serde_json::from_value(once.clone()).expect("what is written reads");
    assert_eq!(serde_json::to_value(&again).expect("a document serializes"), once);
    Some(document)
}

/// OpenReward: the rules and the tree of any blocks, too.
fn blocks(text: &[u8]) {
    use spanbridge::blocks::{limits::Limits, rules, stitch};
    if let Ok(Value::Array(blocks)) = serde_json::from_slice(text) {
        let _ = rules::check_all(&blocks, &Limits::default());
    }
    if let Some(document) = read::<openreward::OpenReward>(text) {
        let stitched = stitch::stitch(&document.blocks);
        serde_json::to_string(&stitched).expect("a tree serializes");
    }
}
