//! Documents of every format as they may come from elsewhere: what is read is written, and that is read, too.

use serde_json::Value;
use spanbridge::blocks::{limits::Limits, rules};
use spanbridge::documents::Vocabulary;
use spanbridge::formats::{AnyFormat, FORMATS, Layout, Options, disassemble};

/// Holds the law: the first byte chooses the format, the rest is the document.
pub fn run(data: &[u8]) {
    let Some((choice, text)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let formats: Vec<&AnyFormat> = FORMATS.iter().filter(|format| format.is_read()).collect();
    let format = formats[usize::from(*choice) % formats.len()];
    if let ("openreward", Ok(Value::Array(blocks))) = (format.id, serde_json::from_str(text)) {
        let _ = rules::check_all(&blocks, &Limits::default());
    }
    let Ok(read) = disassemble(Some(format), text) else { return };
    let runs = Vocabulary::built_in().runs(read.spans, Vec::new());
    for run in &runs {
        for written in format.assemble(std::slice::from_ref(run), &Options::default(), Layout::Compact) {
            let again = disassemble(Some(format), &written.document);
            assert!(
                again.is_ok(),
                "{} does not read its own document: {again:?}\n{}",
                format.id,
                written.document
            );
        }
    }
}
