//! A log as the container that Inspect writes itself: a zip of the header, the sample and its summary.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use rawzip::{CompressionMethod, ZipArchiveWriter};
use serde_json::{Map, Value, json};

/// The container of a log, which is JSON text.
pub(super) fn pack(text: &str) -> Result<Vec<u8>, String> {
    let mut log: Map<String, Value> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let samples = match log.remove("samples") {
        Some(Value::Array(samples)) => samples,
        _ => Vec::new(),
    };
    let part = |name: &str| log.get(name).cloned().unwrap_or_default();
    let start = json!({"version": part("version"), "eval": part("eval"), "plan": part("plan")});
    let is_over = part("status") != "started";
    let summaries: Vec<Value> = samples.iter().map(|sample| summary(sample, is_over)).collect();
    let mut files = vec![("_journal/start.json".to_owned(), start)];
    for sample in samples {
        let id = sample.get("id").and_then(Value::as_str).unwrap_or_default();
        files.push((format!("samples/{id}_epoch_1.json"), sample));
    }
    files.push(("summaries.json".to_owned(), summaries.into()));
    files.push(("header.json".to_owned(), log.into()));
    zipped(&files).map_err(|error| error.to_string())
}

/// What readers list without opening the sample.
fn summary(sample: &Value, is_over: bool) -> Value {
    const TAKEN: [&str; 10] = [
        "id",
        "epoch",
        "input",
        "target",
        "metadata",
        "scores",
        "model_usage",
        "started_at",
        "completed_at",
        "total_time",
    ];
    let taken = TAKEN
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), sample.get(*name)?.clone())));
    let mut out: Map<String, Value> = taken.collect();
    let messages = sample.get("messages").and_then(Value::as_array).map_or(0, Vec::len);
    let error = sample.get("error").and_then(|error| error.get("message"));
    let more = [
        ("uuid", sample.get("uuid").cloned()),
        ("error", error.cloned()),
        ("completed", Some(is_over.into())),
        ("message_count", Some(messages.into())),
    ];
    out.extend(more.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    out.into()
}

/// Files without a time: one document is the same bytes whenever it is written.
fn zipped(files: &[(String, Value)]) -> Result<Vec<u8>, rawzip::Error> {
    let mut out = Vec::new();
    let mut archive = ZipArchiveWriter::new(&mut out);
    for (name, value) in files {
        let (mut entry, config) = archive.new_file(name).compression_method(CompressionMethod::DEFLATE).start()?;
        let mut writer = config.wrap(DeflateEncoder::new(&mut entry, Compression::default()));
        writer.write_all(value.to_string().as_bytes())?;
        let (encoder, descriptor) = writer.finish()?;
        encoder.finish()?;
        entry.finish(descriptor)?;
    }
    archive.finish()?;
    Ok(out)
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a test")]
mod tests {
    use super::*;

    #[test]
    fn a_container_holds_the_log() {
        let log = json!({"version": 2, "status": "success", "eval": {"task": "t"}, "plan": {},
            "samples": [{"id": "a1", "epoch": 1, "input": "Hi", "target": "", "messages": [{}], "error": {"message": "no"}}]});
        let bytes = pack(&log.to_string()).expect("packed");
        assert_eq!(bytes, pack(&log.to_string()).expect("packed"));
        let archive = rawzip::ZipArchive::from_slice(&bytes).expect("a zip");
        let names: Vec<String> = archive
            .entries()
            .map(|entry| String::from_utf8_lossy(entry.expect("an entry").file_path().as_ref()).into_owned())
            .collect();
        assert_eq!(
            names,
            ["_journal/start.json", "samples/a1_epoch_1.json", "summaries.json", "header.json"]
        );
        let short = summary(&log["samples"][0], true);
        assert_eq!(
            (&short["error"], &short["message_count"], &short["completed"]),
            (&json!("no"), &json!(1), &json!(true))
        );
        assert!(pack("[]").is_err());
    }
}
