//! Runs as other tools export and print them: `tests/exports` has recorded cases in the form that Langfuse's and LangSmith's API give them out.
//! The rows of chat messages are those of the spans that the client sent. `tests/console` has what the JavaScript SDK printed.
#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test")]

use std::fs;
use std::path::{Path, PathBuf};

use spanbridge::otlp::encode;
use spanbridge::span::AnyValue;
use spanbridge::span::json::Message;

use crate::serving::spanbridge;

/// What `convert` writes of these files.
fn rows(files: &[PathBuf]) -> String {
    let mut arguments = vec!["convert", "--to", "messages"];
    arguments.extend(files.iter().map(|file| file.to_str().expect("text")));
    let output = spanbridge(&arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn an_exported_run_has_the_messages_of_its_spans() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let list = |folder: &Path| {
        let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
        let mut entries: Vec<PathBuf> = entries.collect();
        entries.sort();
        entries
    };
    let exports = list(&tests.join("exports"));
    assert!(exports.len() >= 3, "{} exports", exports.len());
    for export in exports {
        let case = export.file_stem().and_then(|name| name.to_str()).expect("a name");
        let spans = list(&tests.join("corpus").join(case));
        let spans: Vec<PathBuf> = spans
            .into_iter()
            .filter(|file| file.to_string_lossy().ends_with(".traces.json"))
            .collect();
        assert_eq!(rows(std::slice::from_ref(&export)), rows(&spans), "{case}");
    }
}

/// `tests/forms` has one run in the forms in which backends give it out and SDKs print it.
#[test]
fn one_run_is_the_same_in_each_form() {
    let forms = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/forms");
    let wanted = rows(&[forms.join("spans.json")]);
    assert!(wanted.contains("9 m."), "{wanted}");
    let mut read = 0;
    for form in fs::read_dir(&forms).expect("a folder") {
        let form = form.expect("an entry").path();
        assert_eq!(rows(std::slice::from_ref(&form)), wanted, "{}", form.display());
        read += 1;
    }
    assert!(read >= 12, "{read} forms");
}

/// The spans and records of a file, as they are stored.
fn stored(file: &Path, trace: &str) -> serde_json::Value {
    let data = tempfile::tempdir().expect("a directory");
    let data = data.path().to_str().expect("text");
    let imported = spanbridge(&["import", "--data-dir", data, file.to_str().expect("text")]);
    assert!(imported.status.success(), "{}", String::from_utf8_lossy(&imported.stderr));
    let shown = spanbridge(&["show", "--spans", "--json", "--data-dir", data, trace]);
    let mut stored = serde_json::from_slice(&shown.stdout).expect("JSON");
    without_flags(&mut stored);
    stored
}

/// Flags are not printed.
fn without_flags(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(members) => {
            members.shift_remove("flags");
            members.values_mut().for_each(without_flags);
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(without_flags),
        _ => {}
    }
}

#[test]
fn what_the_javascript_sdk_prints_is_what_it_exports() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/console");
    let (printed, exported) = (folder.join("printed.txt"), folder.join("exported.json"));
    let sent = fs::read_to_string(&exported).expect("reads");
    let (_, rest) = sent.split_once("\"traceId\":\"").expect("an id");
    let trace = rest.get(..32).expect("an id");
    assert_eq!(stored(&printed, trace), stored(&exported, trace));
}

/// A tool of a coding agent printed spans of the program that it works on.
#[test]
fn what_a_tool_printed_is_text_of_its_span() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let printed = fs::read_to_string(folder.join("console/printed.txt")).expect("reads");
    let sent = fs::read(folder.join("corpus/oi-langchain-agent/001.traces.json")).expect("reads");
    let mut spans = Message::parse(&sent).expect("a message").into_parts().0.items;
    let tool = spans.first_mut().expect("a span");
    tool.attributes.push("tool.output", AnyValue::String(printed));
    let trace = tool.trace_id.to_string();
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("spans.bin");
    fs::write(&file, encode::traces(&spans)).expect("writes");
    assert!(stored(&file, &trace).to_string().contains("tool.output"));
}

/// LangChain's own tracer counts tokens in the message alone, and gives a tool its input as a text.
#[test]
fn a_run_of_langchains_tracer_has_its_tokens_and_arguments() {
    let run = |id: &str, kind: &str, inputs: serde_json::Value, outputs: serde_json::Value| {
        serde_json::json!({"id": format!("00000000-0000-4000-8000-{id:0>12}"), "trace_id": "00000000-0000-4000-8000-000000000001",
            "parent_run_id": (id != "1").then_some("00000000-0000-4000-8000-000000000001"), "name": kind, "run_type": kind,
            "start_time": format!("2026-09-21T14:13:2{id}"), "end_time": format!("2026-09-21T14:13:2{id}.5"), "inputs": inputs, "outputs": outputs,
            "extra": {"metadata": {"ls_model_name": "m", "ls_provider": "p"}}})
    };
    let message = |kind: &str, kwargs: serde_json::Value| serde_json::json!({"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", kind], "kwargs": kwargs});
    let asked = message("HumanMessage", serde_json::json!({"content": "How warm is Rome?", "type": "human"}));
    let call = serde_json::json!({"content": "", "type": "ai", "tool_calls": [{"name": "weather", "args": {"city": "Rome"}, "id": "c1", "type": "tool_call"}],
        "usage_metadata": {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18, "input_token_details": {"cache_read": 3}, "output_token_details": {"reasoning": 2}}});
    for text in ["{'city': 'Rome', 'exact': True}", r#"{"city": "Rome", "exact": true}"#] {
        let runs = serde_json::json!([
            run(
                "1",
                "chain",
                serde_json::json!({"input": "How warm is Rome?"}),
                serde_json::json!({"output": "24 C"})
            ),
            run(
                "2",
                "llm",
                serde_json::json!({"messages": [[asked.clone()]]}),
                serde_json::json!({"generations": [[{"text": "", "message": message("AIMessage", call.clone())}]]})
            ),
            run(
                "3",
                "tool",
                serde_json::json!({"input": text}),
                serde_json::json!({"output": "24 C"})
            ),
        ]);
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("runs.json");
        fs::write(&file, runs.to_string()).expect("writes");
        let output = spanbridge(&["convert", "--to", "contextforge", file.to_str().expect("text")]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let steps = document["steps"].as_array().expect("steps");
        let of = |kind: &str| steps.iter().find(|step| step["step_type"] == kind).expect("a step");
        let call = of("llm_call");
        assert_eq!((&call["tokens_in"], &call["tokens_out"]), (&11.into(), &7.into()));
        assert_eq!(call["metadata"]["usage"], serde_json::json!({"cache_read": 3, "reasoning": 2}));
        assert_eq!(of("tool_call")["arguments"], serde_json::json!({"city": "Rome", "exact": true}));
    }
}

/// Phoenix's table as pandas saves it: the rows are those of its JSON, whatever compresses them.
#[cfg(feature = "parquet")]
#[test]
fn a_table_in_parquet_is_its_rows() {
    use std::sync::Arc;

    use arrow_schema::{DataType, Field, Schema, TimeUnit};
    use parquet::arrow::ArrowWriter;
    use parquet::basic::{Compression, GzipLevel};
    use parquet::file::properties::WriterProperties;

    let forms = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/forms");
    let table = fs::read(forms.join("phoenix-table.json")).expect("a file");
    let table: Vec<serde_json::Value> = serde_json::from_slice(&table).expect("JSON");
    let inferred = arrow_json::reader::infer_json_schema_from_iterator(table.iter().map(Ok)).expect("columns");
    let columns = inferred.fields().iter().map(|column| match column.name().as_str() {
        name @ ("start_time" | "end_time") => {
            let time = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
            Arc::new(Field::new(name, time, true))
        }
        _ => Arc::clone(column),
    });
    let schema = Arc::new(Schema::new(columns.collect::<Vec<_>>()));
    let mut decoder = arrow_json::ReaderBuilder::new(Arc::clone(&schema))
        .build_decoder()
        .expect("a decoder");
    decoder.serialize(&table).expect("rows");
    let batch = decoder.flush().expect("rows").expect("a batch");
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("spans.parquet");
    let path = path.to_str().expect("text");
    for compression in [
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::UNCOMPRESSED,
    ] {
        let properties = WriterProperties::builder().set_compression(compression).build();
        let file = fs::File::create(path).expect("a file");
        let mut writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties)).expect("a table");
        writer.write(&batch).expect("rows");
        writer.close().expect("a file");
        assert_eq!(rows(&[PathBuf::from(path)]), rows(&[forms.join("phoenix-table.json")]));
    }
    let limited = spanbridge(&["convert", "--to", "messages", "--max-bytes", "1000", path]);
    let whole = fs::read(path).expect("a file");
    assert!(whole.len() > 1000 && !limited.status.success());
    let cut = directory.path().join("cut.parquet");
    fs::write(&cut, whole.get(..whole.len() / 2).expect("a half")).expect("a file");
    let output = spanbridge(&["convert", "--to", "messages", cut.to_str().expect("text")]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("a Parquet file that is cut off"), "{errors}");
}

/// The messages of a row, with the arguments of calls as objects: a table has them as text, since each row has other ones. A row's new
/// trace is named after its text.
#[cfg(feature = "parquet")]
fn plain(row: &str) -> serde_json::Value {
    let mut row: serde_json::Value = serde_json::from_str(row).expect("one row");
    for message in row["messages"].as_array_mut().expect("messages") {
        for call in message
            .get_mut("tool_calls")
            .and_then(serde_json::Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            if let Some(text) = call["function"]["arguments"].as_str() {
                call["function"]["arguments"] = serde_json::from_str(text).expect("arguments");
            }
        }
    }
    row["messages"].take()
}

/// Rows that the program wrote as a table are rows again.
#[cfg(feature = "parquet")]
#[test]
fn rows_in_parquet_are_read_again() {
    let spans = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/forms/spans.json");
    let directory = tempfile::tempdir().expect("a directory");
    let set = directory.path().to_str().expect("text");
    for flavour in ["trl", "openai"] {
        let set = format!("{set}/{flavour}");
        let option = format!("messages.flavour={flavour}");
        let written = spanbridge(&[
            "convert",
            "--to",
            "messages",
            "--jsonl",
            "--parquet",
            "--option",
            &option,
            "--output",
            &set,
            spans.to_str().expect("text"),
        ]);
        assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
        let of = |kind: &str| {
            let mut files: Vec<PathBuf> = fs::read_dir(&set)
                .expect("a folder")
                .map(|entry| entry.expect("an entry").path())
                .collect();
            files.retain(|file| file.to_string_lossy().ends_with(kind));
            files.sort();
            files
        };
        let (lines, tables) = (of(".jsonl"), of(".parquet"));
        assert!(!tables.is_empty());
        assert_eq!(plain(&rows(&tables)), plain(&rows(&lines)), "{flavour}");
    }
}
