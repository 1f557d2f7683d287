//! Long lists in one span.

use serde_json::json;
use spanbridge::dialect::write::{AttributeWriter, Vocabulary};
use spanbridge::dialect::{Registry, read};
use spanbridge::documents;
use spanbridge::formats::{FORMATS, Layout, Options};
use spanbridge::trace::{Finding, FindingKind};

use crate::measure::grows_evenly;
use crate::shapes::{CHAT, span};

fn one(attributes: &[(&str, &str)], more: impl Iterator<Item = (String, String)>) -> crate::shapes::Batch {
    let mut span = span(0, None, attributes);
    for (key, value) in more {
        span.attributes.push(key, value);
    }
    (vec![span], Vec::new())
}

#[test]
fn equal_messages_of_one_call() {
    grows_evenly(|count| {
        let messages: Vec<_> = (0..count)
            .map(|_| json!({"role": "user", "parts": [{"type": "text", "content": "the same"}]}))
            .collect();
        let text = json!(messages).to_string();
        one(&[CHAT, ("gen_ai.input.messages", &text)], std::iter::empty())
    });
}

#[test]
fn equal_messages_of_many_calls() {
    grows_evenly(|count| {
        crate::shapes::wide(count, |_| {
            let text = json!([{"role": "user", "parts": [{"type": "text", "content": "the same"}]}]).to_string();
            crate::shapes::said(CHAT, &[("gen_ai.input.messages", text)])
        })
    });
}

#[test]
fn equal_answers_of_one_call() {
    grows_evenly(|count| {
        let text = json!(vec![
            json!({"role": "assistant", "parts": [{"type": "text", "content": "the same"}]});
            usize::try_from(count).unwrap()
        ])
        .to_string();
        one(&[CHAT, ("gen_ai.output.messages", &text)], std::iter::empty())
    });
}

#[test]
fn user_messages_of_one_call() {
    grows_evenly(|count| {
        let messages: Vec<_> = (0..count)
            .map(|number| json!({"role": "user", "parts": [{"type": "text", "content": format!("m{number}")}]}))
            .collect();
        let text = json!(messages).to_string();
        one(&[CHAT, ("gen_ai.input.messages", &text)], std::iter::empty())
    });
}

#[test]
fn parts_of_one_message() {
    grows_evenly(|count| {
        let parts: Vec<_> = (0..count)
            .map(|number| match number % 4 {
                0 => json!({"type": "text", "content": format!("m{number}")}),
                1 => json!({"type": "reasoning", "content": format!("r{number}")}),
                2 => json!({"type": "blob", "modality": "image", "mime_type": "image/png", "content": "AAAA"}),
                _ => json!({"type": "strange", "at": number}),
            })
            .collect();
        let (asked, told) = (
            json!([{"role": "user", "parts": parts}]).to_string(),
            json!([{"role": "assistant", "parts": parts}]).to_string(),
        );
        one(
            &[CHAT, ("gen_ai.input.messages", &asked), ("gen_ai.output.messages", &told)],
            std::iter::empty(),
        )
    });
}

#[test]
fn indexed_messages_of_one_call() {
    grows_evenly(|count| {
        one(
            &[("traceloop.span.kind", "llm"), ("llm.request.type", "chat")],
            (0..count).flat_map(|number| {
                [
                    (format!("gen_ai.prompt.{number}.role"), "user".to_owned()),
                    (format!("gen_ai.prompt.{number}.content"), format!("m{}", number % 3)),
                    (format!("gen_ai.completion.{number}.role"), "assistant".to_owned()),
                    (format!("gen_ai.completion.{number}.content"), format!("m{number}")),
                ]
            }),
        )
    });
}

#[test]
fn indexed_equal_messages_of_one_call() {
    grows_evenly(|count| {
        one(
            &[("openinference.span.kind", "LLM")],
            (0..count).flat_map(|number| {
                [
                    (format!("llm.input_messages.{number}.message.role"), "user".to_owned()),
                    (format!("llm.input_messages.{number}.message.content"), "the same".to_owned()),
                ]
            }),
        )
    });
}

#[test]
fn indexed_calls_of_one_message() {
    grows_evenly(|count| {
        let key = "llm.output_messages.0.message.tool_calls";
        one(
            &[
                ("openinference.span.kind", "LLM"),
                ("llm.output_messages.0.message.role", "assistant"),
            ],
            (0..count).flat_map(|number| {
                [
                    (format!("{key}.{number}.tool_call.function.name"), "t".to_owned()),
                    (
                        format!("{key}.{number}.tool_call.function.arguments"),
                        format!("{{\"n\":{number}}}"),
                    ),
                ]
            }),
        )
    });
}

#[test]
fn documents_of_a_retriever() {
    grows_evenly(|count| {
        one(
            &[("openinference.span.kind", "RETRIEVER"), ("input.value", "q")],
            (0..count).flat_map(|number| {
                let key = format!("retrieval.documents.{number}.document");
                [
                    (format!("{key}.content"), format!("d{number}")),
                    (format!("{key}.id"), format!("i{number}")),
                    (format!("{key}.score"), "0.5".to_owned()),
                    (format!("{key}.metadata"), format!("{{\"m\":{number}}}")),
                ]
            }),
        )
    });
}

#[test]
fn documents_of_a_retriever_in_json() {
    grows_evenly(|count| {
        let documents: Vec<_> = (0..count)
            .map(|number| json!({"content": format!("d{number}"), "score": 0.5}))
            .collect();
        let text = json!(documents).to_string();
        one(
            &[("step_type", "retrieval"), ("query", "q"), ("results", &text)],
            std::iter::empty(),
        )
    });
}

#[test]
fn results_of_a_memory() {
    grows_evenly(|count| {
        let results: Vec<_> = (0..count).map(|number| json!({"content": format!("d{number}")})).collect();
        let text = json!(results).to_string();
        one(
            &[("step_type", "memory_read"), ("query", "q"), ("results", &text)],
            std::iter::empty(),
        )
    });
}

#[test]
fn changes_of_a_memory() {
    grows_evenly(|count| {
        let changes: Vec<_> = (0..count)
            .map(|number| json!({"path": format!("p{number}"), "old_value": 1, "new_value": 2}))
            .collect();
        let text = json!(changes).to_string();
        one(
            &[
                ("step_type", "memory_write"),
                ("entity_type", "e"),
                ("operation", "update"),
                ("data", "{}"),
                ("changes", &text),
            ],
            std::iter::empty(),
        )
    });
}

#[test]
fn judgements_of_one_span() {
    grows_evenly(|count| {
        let mut batch = one(&[CHAT], std::iter::empty());
        batch.0[0].events = (0..count)
            .map(|number| spanbridge::span::Event {
                time: batch.0[0].start,
                name: "gen_ai.evaluation.result".to_owned(),
                attributes: [
                    (
                        "gen_ai.evaluation.name".to_owned(),
                        spanbridge::span::AnyValue::from(format!("e{number}")),
                    ),
                    ("gen_ai.evaluation.score.value".to_owned(), spanbridge::span::AnyValue::Double(0.5)),
                ]
                .into_iter()
                .collect(),
                dropped_attributes: 0,
            })
            .collect();
        batch
    });
}

#[test]
fn attributes_that_no_rule_knows() {
    grows_evenly(|count| {
        one(
            &[CHAT],
            (0..count).map(|number| (format!("strange.{number}"), format!("s{number}"))),
        )
    });
}

#[test]
fn parameters_and_metadata_of_one_call() {
    grows_evenly(|count| {
        let map: serde_json::Map<_, _> = (0..count).map(|number| (format!("k{number}"), json!(number))).collect();
        let text = json!(map).to_string();
        one(
            &[
                ("openinference.span.kind", "LLM"),
                ("llm.invocation_parameters", &text),
                ("metadata", &text),
            ],
            (0..count).map(|number| (format!("metadata.more.{number}"), "x".to_owned())),
        )
    });
}

#[test]
fn tools_offered_to_one_call() {
    grows_evenly(|count| {
        let tools: Vec<_> = (0..count)
            .map(|number| json!({"type": "function", "name": format!("t{number}"), "description": "d", "parameters": {"type": "object"}}))
            .collect();
        let text = json!(tools).to_string();
        one(&[CHAT, ("gen_ai.tool.definitions", &text)], std::iter::empty())
    });
}

#[test]
fn tags_of_one_span() {
    grows_evenly(|count| {
        let tags: Vec<_> = (0..count).map(|number| format!("t{number}")).collect();
        let text = json!(tags).to_string();
        one(&[("openinference.span.kind", "LLM"), ("tag.tags", &text)], std::iter::empty())
    });
}

#[test]
fn members_of_what_an_agent_says() {
    grows_evenly(|count| {
        let map: serde_json::Map<_, _> = (0..count).map(|number| (format!("k{number}"), json!(number))).collect();
        let text = json!(map).to_string();
        one(
            &[
                ("openinference.span.kind", "AGENT"),
                ("input.value", &text),
                ("input.mime_type", "application/json"),
                ("output.value", &text),
                ("output.mime_type", "application/json"),
            ],
            std::iter::empty(),
        )
    });
}

#[test]
fn lists_that_no_dialect_knows() {
    grows_evenly(|count| {
        one(
            &[],
            (0..count).map(|number| (format!("acme{number}.messages.0.role"), "user".to_owned())),
        )
    });
}

#[test]
fn kinds_that_no_dialect_knows() {
    grows_evenly(|count| one(&[], (0..count).map(|number| (format!("acme{number}.span.kind"), "step".to_owned()))));
}

#[test]
fn json_texts_that_no_dialect_knows() {
    grows_evenly(|count| {
        let text = json!([{"role": "user", "content": "hello"}]).to_string();
        one(&[], (0..count).map(|number| (format!("acme{number}.messages"), text.clone())))
    });
}

#[test]
fn server_tools_of_one_answer() {
    grows_evenly(|count| {
        let calls = (0..count).map(|number| json!({"type": "tool_use", "id": format!("c{number}"), "name": "search", "input": {}}));
        let results = (0..count).map(|number| json!({"type": "tool_result", "tool_use_id": format!("c{number}"), "content": "found"}));
        let text = json!([{"role": "assistant", "content": calls.chain(results).collect::<Vec<_>>()}]).to_string();
        one(&[CHAT, ("gen_ai.output.messages", &text)], std::iter::empty())
    });
}

#[test]
fn calls_of_one_answer_with_ids_in_the_response() {
    grows_evenly(|count| {
        let calls: Vec<_> = (0..count)
            .map(|number| json!({"id": format!("item{number}"), "function": {"name": "f", "arguments": "{}"}}))
            .collect();
        let items: Vec<_> = (0..count)
            .map(|number| json!({"type": "function_call", "id": format!("item{number}"), "call_id": format!("c{number}"), "name": "f", "arguments": "{}"}))
            .collect();
        let (answer, response) = (
            json!([{"role": "assistant", "tool_calls": calls}]).to_string(),
            json!({"output": items}).to_string(),
        );
        one(
            &[
                ("openinference.span.kind", "LLM"),
                ("gen_ai.output.messages", &answer),
                ("output.value", &response),
                ("output.mime_type", "application/json"),
            ],
            std::iter::empty(),
        )
    });
}

#[test]
fn segments_of_one_key() {
    grows_evenly(|count| {
        let key = format!("llm.input_messages.0{}", ".a".repeat(usize::try_from(100 * count).unwrap()));
        one(&[("openinference.span.kind", "LLM")], std::iter::once((key, "deep".to_owned())))
    });
}

/// However many segments a key has: it is read, written in another vocabulary and in documents on the stack of a server's thread,
/// and stays an attribute.
#[test]
fn segments_of_each_key_that_opens_a_list() {
    let lists = [
        ("LLM", "llm.input_messages."),
        ("LLM", "llm.output_messages."),
        ("LLM", "llm.prompts."),
        ("LLM", "llm.choices."),
        ("LLM", "llm.tools."),
        ("LLM", "gen_ai.prompt."),
        ("LLM", "gen_ai.completion."),
        ("LLM", "gen_ai.input.messages."),
        ("LLM", "gen_ai.output.messages."),
        ("LLM", "gen_ai.tool.definitions."),
        ("LLM", "llm.request.functions."),
        ("LLM", "gen_ai.request.functions."),
        ("LLM", "evaluations."),
        ("LLM", "annotations."),
        ("EMBEDDING", "embedding.embeddings."),
        ("EMBEDDING", "gen_ai.prompt."),
        ("RETRIEVER", "retrieval.documents."),
        ("RERANKER", "reranker.output_documents."),
    ];
    let registry = Registry::built_in();
    let check = |kind: &str, prefix: &str| {
        let key = format!("{prefix}0{}", ".0".repeat(200_000));
        let (spans, logs) = one(
            &[("openinference.span.kind", kind)],
            std::iter::once((key.clone(), "deep".to_owned())),
        );
        let read = read(registry, &spans[0], &[]);
        assert_eq!(read.operation.unmapped[&key], "deep", "{prefix}");
        let tells = |finding: &Finding| finding.kind == FindingKind::UnreadableValue && finding.detail.starts_with(prefix);
        assert!(read.findings.iter().any(tells), "{prefix}");
        for vocabulary in [Vocabulary::GenAi, Vocabulary::OpenInference] {
            let written = AttributeWriter::new(vocabulary).write(&read.operation);
            assert!(written.get(&key).is_some(), "{prefix}");
        }
        let runs = documents::Vocabulary::built_in().runs(spans, logs);
        let documents = FORMATS
            .iter()
            .flat_map(|format| format.assemble(&runs, &Options::default(), Layout::Compact));
        let with_key = documents.filter(|assembled| assembled.document.contains(&key)).count();
        assert!(with_key > 0, "{prefix}");
    };
    std::thread::scope(|scope| {
        let run = || lists.iter().for_each(|(kind, prefix)| check(kind, prefix));
        let thread = std::thread::Builder::new().stack_size(2 << 20).spawn_scoped(scope, run).unwrap();
        if let Err(panic) = thread.join() {
            std::panic::resume_unwind(panic);
        }
    });
}

/// JSON text in JSON text: each level may nest as deep as the parser allows.
#[test]
fn lists_in_texts_in_lists() {
    grows_evenly(|count| {
        let levels = count.ilog2();
        let mut text = "hello".to_owned();
        for _ in 0..levels {
            text = format!("{}{}{}", "[".repeat(120), json!(text), "]".repeat(120));
        }
        one(&[CHAT, ("gen_ai.input.messages", &text)], std::iter::empty())
    });
}
