//! Whose spans a destination gets, as which preset, and that nothing of it stays silent.

use serde_json::Value;
use spanbridge::forward::{DestinationText, Dialect, resolve_all};

use super::serving::{ANY_PORTS, Serving, program};
use super::sink::{Answer, Sink};

fn table(toml: &str) -> DestinationText {
    toml::from_str(toml).expect("a [[forward]] table")
}

#[test]
fn a_name_chooses_its_preset_and_a_misspelt_one_is_an_error() {
    for (toml, preset, dialect) in [
        ("name = \"jaeger\"", "jaeger", Dialect::GenAi),
        ("name = \"jaeger\"\npreset = \"otlp\"", "otlp", Dialect::AsReceived),
        ("name = \"mine\"\npreset = \"phoenix\"", "phoenix", Dialect::OpenInference),
        ("name = \"jaeger-2\"", "otlp", Dialect::AsReceived),
        ("name = \"phonix\"\npreset = \"otlp\"", "otlp", Dialect::AsReceived),
        ("", "otlp", Dialect::AsReceived),
    ] {
        let destination = table(&format!("url = \"http://127.0.0.1:4318\"\n{toml}"))
            .resolve(None)
            .expect("is right");
        assert_eq!((destination.preset, destination.dialect), (preset, dialect), "{toml}");
    }
    for (flag, meant) in [
        ("phonix", "phoenix"),
        ("jeager", "jaeger"),
        ("lanfuse", "langfuse"),
        ("mlfow", "mlflow"),
    ] {
        let error = DestinationText::of_flag(&format!("{flag}=http://127.0.0.1:6006"))
            .resolve(None)
            .expect_err(flag);
        assert!(error.to_string().contains(&format!("did you mean {meant:?}")), "{error}");
    }
    let by_flag = DestinationText::of_flag("jaeger=http://127.0.0.1:4317")
        .resolve(None)
        .expect("is right");
    assert_eq!(by_flag.preset, "jaeger");
}

#[test]
fn two_projects_may_have_destinations_of_one_name() {
    let of = |project: &str| {
        table(&format!(
            "url = \"http://127.0.0.1:6006\"\nname = \"phoenix\"\nproject = \"{project}\""
        ))
    };
    assert_eq!(resolve_all(&[of("acme/web"), of("acme/shop")], None).expect("are right").len(), 2);
    let (_, error) = resolve_all(&[of("acme/web"), of("acme/web")], None).expect_err("are the same");
    assert!(error.to_string().contains("one project"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn projects_that_are_forwarded_nowhere_are_told() {
    let directory = tempfile::tempdir().expect("a directory");
    let sink = Sink::start(|_| Answer::ok()).await;
    let settings = directory.path().join("spanbridge.toml");
    let hash = |digit: &str| format!("sha256:{}", digit.repeat(64));
    let token = |name: &str, hash: String, project: &str| {
        format!("[[tokens]]\nname = \"{name}\"\nhash = \"{hash}\"\nrights = [\"ingest\"]\nproject = \"{project}\"\n")
    };
    let text = token("one", hash("1"), "acme/web") + &token("two", hash("2"), "acme/shop");
    let text = format!(
        "{text}[[forward]]\nname = \"sink\"\nurl = \"{}\"\nproject = \"acme/web\"\n",
        sink.url()
    );
    std::fs::write(&settings, text).expect("written");
    let config = ["--config", settings.to_str().expect("text")];
    let data_dir = directory.path().join("data");

    let serving = tokio::task::spawn_blocking({
        let (data_dir, flags) = (data_dir.clone(), config.map(ToOwned::to_owned));
        move || Serving::start_with(&data_dir, &flags.each_ref().map(String::as_str))
    });
    let serving = serving.await.expect("starts");
    serving.wait_for("the spans of project acme/shop are forwarded nowhere");
    let greeting = serving.wait_for("sink  ");
    assert!(greeting.contains("preset otlp, project acme/web"), "{greeting}");
    assert!(!serving.log().contains("acme/web are forwarded nowhere"), "{}", serving.log());
    drop(serving);

    let told = |arguments: &[&str]| {
        let output = program()
            .args(arguments)
            .args(["--data-dir", data_dir.to_str().expect("text")])
            .output()
            .expect("runs");
        (
            String::from_utf8(output.stdout).expect("text"),
            String::from_utf8(output.stderr).expect("text"),
        )
    };
    let (findings, _) = told(&[&["doctor", "--json", "--only", "forward"][..], &config, &ANY_PORTS].concat());
    let findings: Value = serde_json::from_str(&findings).expect("JSON");
    let whats: Vec<&str> = findings["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .filter_map(|found| found["what"].as_str())
        .collect();
    assert!(
        whats.iter().any(|what| what.contains("acme/shop are forwarded nowhere")),
        "{whats:?}"
    );
    assert!(
        whats.iter().any(|what| what.contains("accepts the spans of project acme/web")),
        "{whats:?}"
    );

    let (status, notes) = told(&["forward", "status"]);
    assert!(status.contains("PROJECT") && status.contains("acme/web"), "{status}");
    assert!(notes.contains("project acme/shop are forwarded nowhere"), "{notes}");
    let (_, error) = told(&["forward", "retry", "sink"]);
    assert!(
        error.contains("requested"),
        "the project is found by the destination's name: {error}"
    );
}
