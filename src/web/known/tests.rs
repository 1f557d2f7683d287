//! What a list knows of a run.

use super::*;
use crate::dataset::Expression;
use crate::documents::Vocabulary;
use crate::span::json;

/// What a list decides is what the run says, and what lists are for is decided by them.
#[test]
fn a_list_decides_as_the_run_does() {
    let attribute = |key: &str, value: &str| format!(r#"{{"key": "{key}", "value": {value}}}"#);
    let text = |text: &str| format!(r#"{{"stringValue": "{text}"}}"#);
    let span = |number: u8, parent: &str, failed: &str, attributes: &[String]| {
        format!(
            r#"{{"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "000000000000000{number}", "parentSpanId": "{parent}",
                "name": "step", "startTimeUnixNano": "1795262685000000000", "endTimeUnixNano": "1795262686000000000",
                "status": {failed}, "attributes": [{}]}}"#,
            attributes.join(",")
        )
    };
    let kind = |kind: &str| attribute("openinference.span.kind", &text(kind));
    let spans = [
        span(
            1,
            "",
            "{}",
            &[
                kind("AGENT"),
                attribute("agent.name", &text("lead")),
                attribute("input.value", &text("Why?")),
            ],
        ),
        span(
            2,
            "0000000000000001",
            r#"{"code": 2, "message": "no city 7"}"#,
            &[kind("TOOL"), attribute("tool.name", &text("look"))],
        ),
        span(
            3,
            "0000000000000001",
            "{}",
            &[
                kind("EVALUATOR"),
                attribute("evaluations.0.evaluation.name", &text("feedback")),
                attribute("evaluations.0.evaluation.label", &text("good")),
                attribute("evaluations.0.evaluation.score", r#"{"doubleValue": 0.5}"#),
            ],
        ),
    ];
    let request = format!(r#"{{"resourceSpans": [{{"scopeSpans": [{{"spans": [{}]}}]}}]}}"#, spans.join(","));
    let runs = Vocabulary::built_in().runs(json::traces(request.as_bytes()).unwrap().items, Vec::new());
    let run = &runs[0];
    let listed = Listed {
        trace_id: run.trace_id.to_string(),
        summary: Summary::of(run),
        ..Listed::default()
    };
    for (text, decided) in [
        ("label.feedback = good", Some(true)),
        ("label.feedback != good or has(label.other)", Some(false)),
        ("score.feedback >= 0.5 and failures = 1", Some(true)),
        ("agent = lead and not has(annotator)", Some(true)),
        ("status != ok and tool_calls = 1 and model_calls = 0", Some(true)),
        ("has(cost) or has(reward) or has(version)", Some(false)),
        ("trace ~ '5b8e*'", Some(true)),
        ("tool = look", None),
        ("tool = look and agent = nobody", Some(false)),
        ("question = 'Why?'", None),
        ("question = 'Why?' or failures > 0", Some(true)),
        ("tokens.in > 0", None),
    ] {
        let expression = Expression::parse(text, &|_| Err(String::new())).unwrap();
        assert_eq!(expression.known(&listed), decided, "{text}");
        assert_eq!(expression.matches(run), decided.unwrap_or(expression.matches(run)), "{text}");
    }
    let unread = Expression::parse("not has(annotator)", &|_| Err(String::new())).unwrap();
    assert_eq!(unread.known(&Listed::default()), None, "a run that was not read");
}
