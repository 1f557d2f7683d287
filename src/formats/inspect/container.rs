//! Packs a log as Inspect does: a zip of the header, the sample and its summary.

use std::collections::BTreeMap;
use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use rawzip::{CompressionMethod, ZipArchiveWriter};
use serde_json::value::{RawValue, to_raw_value};

use crate::document::text::without_blanks;

/// The members of an object, with their unparsed texts: a log is long, and little of it is needed.
type Members<'t> = BTreeMap<String, &'t RawValue>;

/// Packs the JSON text of a log.
pub(super) fn pack(text: &str) -> Result<Vec<u8>, String> {
    packed(text).map_err(|error| error.to_string())
}

fn packed(text: &str) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut log: Members<'_> = serde_json::from_str(text)?;
    let samples: Vec<&RawValue> = match log.remove("samples") {
        Some(samples) => serde_json::from_str(samples.get())?,
        None => Vec::new(),
    };
    let is_over = log.get("status").map(|status| status.get()) != Some("\"started\"");
    let start: BTreeMap<&str, Option<&&RawValue>> = ["version", "eval", "plan"].map(|name| (name, log.get(name))).into();
    let mut files = vec![("_journal/start.json".to_owned(), without_blanks(&serde_json::to_string(&start)?))];
    let mut summaries = Vec::with_capacity(samples.len());
    for sample in samples {
        let members: Members<'_> = serde_json::from_str(sample.get())?;
        let id = members.get("id").and_then(|id| serde_json::from_str::<String>(id.get()).ok());
        let id = id.unwrap_or_default();
        files.push((format!("samples/{id}_epoch_1.json"), without_blanks(sample.get())));
        summaries.push(summary(&members, is_over)?);
    }
    files.push(("summaries.json".to_owned(), without_blanks(&serde_json::to_string(&summaries)?)));
    files.push(("header.json".to_owned(), without_blanks(&serde_json::to_string(&log)?)));
    Ok(zipped(&files)?)
}

/// What readers list without opening the sample.
fn summary(sample: &Members<'_>, is_over: bool) -> serde_json::Result<BTreeMap<&'static str, Box<RawValue>>> {
    const SUMMARY_MEMBERS: [&str; 11] = [
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
        "uuid",
    ];
    let taken = SUMMARY_MEMBERS
        .iter()
        .filter_map(|name| Some((*name, (*sample.get(*name)?).to_owned())));
    let mut out: BTreeMap<&str, Box<RawValue>> = taken.collect();
    let messages = sample
        .get("messages")
        .map_or(Ok(Vec::new()), |messages| serde_json::from_str::<Vec<&RawValue>>(messages.get()));
    let error = sample
        .get("error")
        .map(|error| serde_json::from_str::<Option<Members<'_>>>(error.get()))
        .transpose()?;
    if let Some(message) = error.flatten().and_then(|error| error.get("message").copied()) {
        out.insert("error", message.to_owned());
    }
    out.insert("completed", to_raw_value(&is_over)?);
    out.insert("message_count", to_raw_value(&messages?.len())?);
    Ok(out)
}

/// A zip of files without times, so that the same document always has the same bytes.
fn zipped(files: &[(String, String)]) -> Result<Vec<u8>, rawzip::Error> {
    let mut out = Vec::new();
    let mut archive = ZipArchiveWriter::new(&mut out);
    for (name, text) in files {
        let (mut entry, config) = archive.new_file(name).compression_method(CompressionMethod::DEFLATE).start()?;
        let mut writer = config.wrap(DeflateEncoder::new(&mut entry, Compression::default()));
        writer.write_all(text.as_bytes())?;
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
    use serde_json::{Value, json};

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
        let sample = log["samples"][0].to_string();
        let short = summary(&serde_json::from_str(&sample).expect("an object"), true).expect("JSON");
        let short: Value = serde_json::to_value(short).expect("JSON");
        assert_eq!(
            (&short["error"], &short["message_count"], &short["completed"]),
            (&json!("no"), &json!(1), &json!(true))
        );
        assert!(pack("[]").is_err());
    }
}
