//! Runs of every shape.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests stop where data is not as built")]

use serde_json::{Map, Value, json};

use super::{Build, assistant, call, calling, failure, ms, span, tokens, user};
use crate::formats::{FORMATS, Layout, Options};
use crate::operation::{Kind, Message, Role, ToolCallId};
use crate::run::{EntryKind, Id, ResultEntry, Run, ScopeId, StepId};

/// Runs of every shape, by name.
pub(crate) fn samples() -> Vec<(&'static str, Run)> {
    vec![
        ("trip_planner", trip_planner()),
        ("sub_agents", sub_agents()),
        ("retries", retries()),
        ("odd_arguments", odd_arguments()),
        ("searches", searches()),
        ("controls", controls()),
        ("top_level", top_level()),
        ("running", running()),
        ("skewed", skewed()),
        ("only_agent", only_agent()),
        ("media", media()),
        ("failed_model", failed_model()),
        ("no_content", no_content()),
        ("deep", deep()),
        ("people", people()),
    ]
}

/// A tool that calls an agent, whose tool calls another.
pub(crate) fn sub_agents() -> Run {
    let mut build = Build::new();
    let root = build.agent("boss", None, 0, 9000);
    let ask = calling(vec![call("c1", "ask_weather", json!({"q": "Oslo"}))]);
    let first = build.llm(root, 10, 500, &[user("Weather in Oslo?")], Some(ask));
    let tool = build.tool(first, 0, 600, 5000, Ok("cold".into()));
    let inner = build.agent("weather", Some(tool), 700, 4900);
    let look = calling(vec![call("c1", "lookup", json!({"city": "Oslo"}))]);
    let asked = build.llm(inner, 800, 1000, &[user("Oslo?")], Some(look));
    let lookup = build.tool(asked, 0, 1100, 3000, Ok(json!({"t": -3})));
    let deepest = build.agent("archive", Some(lookup), 1200, 2900);
    build.llm(deepest, 1300, 1500, &[user("Records of Oslo?")], Some(assistant("-3 in January")));
    build.llm(inner, 3100, 3500, &[], Some(assistant("cold, -3")));
    let last = build.llm(root, 5100, 6000, &[], Some(assistant("It is cold in Oslo.")));
    build.ask("Weather in Oslo?", first, true);
    build.answer("It is cold in Oslo.", last, true);
    build.run
}

/// A call that ran twice, one that was asked for twice, and an id that names two calls.
pub(crate) fn retries() -> Run {
    let mut build = Build::new();
    let root = build.agent("retry", None, 0, 9000);
    let fetch = || call("call_a", "fetch", json!({"url": "a"}));
    let first = build.llm(root, 10, 500, &[user("Fetch a, then b.")], Some(calling(vec![fetch()])));
    build.tool(first, 0, 600, 700, Err(failure("refused", "io")));
    build.tool(first, 0, 800, 900, Err(failure("refused again", "io")));
    let again = build.llm(root, 1000, 1100, &[], Some(calling(vec![fetch()])));
    build.tool(again, 0, 1200, 1300, Ok("page a".into()));
    let other = build.llm(
        root,
        1400,
        1500,
        &[],
        Some(calling(vec![call("call_a", "fetch", json!({"url": "b"}))])),
    );
    build.tool(other, 0, 1600, 1700, Ok("page b".into()));
    let last = build.llm(root, 1800, 1900, &[], Some(assistant("Both are here.")));
    build.ask("Fetch a, then b.", first, true);
    build.answer("Both are here.", last, true);
    build.run
}

/// Arguments of every JSON type, calls without an id, a result without a call.
pub(crate) fn odd_arguments() -> Run {
    let mut build = Build::new();
    let root = build.agent("odd", None, 0, 9000);
    let wanted = calling(vec![
        call("a", "echo", json!("bare")),
        call("b", "echo", json!([1, 2])),
        call("", "echo", json!({"n": null, "float": 1.0, "big": 9_007_199_254_740_993_u64})),
        call("d", "echo", Value::Null),
    ]);
    let first = build.llm(root, 10, 500, &[user("Echo.")], Some(wanted));
    build.tool(first, 0, 600, 700, Ok(json!([1, "two", null])));
    build.tool(first, 1, 600, 700, Ok(Value::Null));
    build.tool(first, 2, 600, 700, Ok(json!(0.5)));
    build.tool(first, 3, 600, 700, Ok(json!(false)));
    let stray = ResultEntry {
        call_id: ToolCallId::Recorded("nobody".to_owned()),
        tool: None,
        tool_name: None,
        result: "stray".into(),
        given: None,
        failure: None,
        attempt: 0,
    };
    build.entry(0, EntryKind::Result(stray), None, 800);
    let last = build.llm(root, 900, 1000, &[], Some(assistant("Done.")));
    build.ask("Echo.", first, true);
    build.answer("Done.", last, true);
    build.run
}

/// Retrieval on its own and inside a tool, reranking, embedding, memory.
pub(crate) fn searches() -> Run {
    use crate::operation::{Document, Memory, Search};
    let mut build = Build::new();
    let found = |text: &str, score: f64| Document {
        id: Some("d1".to_owned()),
        content: Some(text.to_owned()),
        score: Some(score),
        metadata: Map::from_iter([("source".to_owned(), "wiki".into())]),
    };
    let search = |documents: Option<Vec<Document>>| Search {
        query: Some("otters".into()),
        documents,
        top_k: Some(2),
        match_count: None,
    };
    let root = build.agent("rag", None, 0, 9000);
    let read = build.step(Kind::MemoryRead, "search_memory", Some(root), 10, 20);
    build.op(read).memory = Some(Box::new(Memory {
        query: Some(json!({"user": "u1"})),
        results: Some(json!([{"likes": "otters"}])),
        scores: Some(json!([0.9])),
        total_available: Some(7),
        ..Memory::default()
    }));
    let embedding = build.step(Kind::Embedding, "embed", Some(root), 20, 25);
    build.op(embedding).embedded_texts = vec!["otters".to_owned()];
    build.op(embedding).vector_count = Some(1);
    build.op(embedding).model.requested = Some("text-embedding-3-small".to_owned());
    let retrieval = build.step(Kind::Retrieval, "retrieve", Some(root), 30, 40);
    build.op(retrieval).search = Some(Box::new(search(Some(vec![found("Otters swim.", 0.5), found("Otters eat.", 7.5)]))));
    let rerank = build.step(Kind::Rerank, "rerank", Some(root), 41, 45);
    build.op(rerank).search = Some(Box::new(search(Some(vec![found("Otters eat.", 0.99)]))));
    let wanted = calling(vec![call("c1", "lookup", json!({"q": "otters"}))]);
    let first = build.llm(root, 50, 500, &[user("What do otters do?")], Some(wanted));
    let tool = build.tool(first, 0, 600, 900, Ok("They sleep.".into()));
    let inside = build.step(Kind::Retrieval, "VectorStoreRetriever", Some(tool), 650, 800);
    build.op(inside).search = Some(Box::new(search(Some(vec![found("Otters sleep.", 0.1)]))));
    build.run.steps[inside].inside_tool = Some(StepId::new(tool));
    let blind = build.step(Kind::Retrieval, "retrieve", Some(root), 910, 920);
    build.op(blind).search = Some(Box::new(search(None)));
    let write = build.step(Kind::MemoryWrite, "upsert_memory", Some(root), 930, 940);
    build.op(write).memory = Some(Box::new(Memory {
        entity_type: Some("user".to_owned()),
        entity_id: Some("u1".to_owned()),
        namespace: Some(json!(["profiles", "u1"])),
        operation: Some("upsert".to_owned()),
        data: Some(json!({"likes": "otters"})),
        changes: Some(json!([{"path": "$.likes", "old_value": null, "new_value": "otters"}])),
        ..Memory::default()
    }));
    let last = build.llm(root, 1000, 1100, &[], Some(assistant("They swim, eat and sleep.")));
    build.ask("What do otters do?", first, true);
    build.answer("They swim, eat and sleep.", last, true);
    build.run
}

/// Guardrail, handoff, state, interrupt, prompt, evaluations, rewards.
pub(crate) fn controls() -> Run {
    use crate::operation::{Evaluation, Interrupt, StateChange};
    let mut build = Build::new();
    let root = build.agent("desk", None, 0, 9000);
    let guard = build.step(Kind::Guardrail, "jailbreak check", Some(root), 5, 8);
    build.op(guard).input = "Refund me".into();
    build.op(guard).output = json!({"triggered": false}).into();
    let prompt = build.step(Kind::Prompt, "get_prompt", Some(root), 8, 9);
    build.op(prompt).prompt.id = Some("desk-v1".to_owned());
    let first = build.llm(root, 10, 500, &[user("Refund me")], Some(assistant("I hand you over.")));
    build.op(first).training.reward = Some(0.5);
    build.op(first).training.optimize = Some(true);
    let handoff = build.step(Kind::Handoff, "handoff", Some(root), 510, 520);
    build.op(handoff).state = Some(Box::new(StateChange {
        key: None,
        old_value: Some("desk".into()),
        new_value: Some("refunds".into()),
        reason: None,
    }));
    let chain = build.step(Kind::Chain, "graph", Some(root), 530, 3000);
    build.op(chain).state = Some(Box::new(StateChange {
        key: Some("stage".to_owned()),
        old_value: Some(0.into()),
        new_value: Some(Value::Null),
        reason: Some("next".to_owned()),
    }));
    let asked = build.step(Kind::Interrupt, "approve", Some(chain), 540, 900);
    build.op(asked).interrupt = Some(Box::new(Interrupt {
        prompt: Some("Refund 10?".to_owned()),
        response: Some("yes".into()),
        wait_ms: None,
    }));
    let last = build.llm(chain, 1000, 1100, &[user("Still there?")], Some(assistant("Refunded.")));
    build.op(last).cost.total = Some(0.004);
    let judge = build.step(Kind::Evaluator, "quality", Some(root), 1200, 1300);
    build.op(judge).evaluations = vec![Evaluation {
        name: Some("quality".to_owned()),
        score: Some(0.8),
        label: Some("good".to_owned()),
        explanation: Some("polite".to_owned()),
        annotator_kind: Some("LLM".to_owned()),
    }];
    build.op(judge).training.ideal = Some("Refunded 10.".into());
    build.op(root).unmapped.insert("tenant".to_owned(), "t1".into());
    build.op(last).unmapped.insert("shard".to_owned(), 3.into());
    build.ask("Refund me", first, true);
    build.answer("Refunded.", last, true);
    build.run
}

/// Two conversations in one trace, the second with its own history.
pub(crate) fn top_level() -> Run {
    let mut build = Build::new();
    let root = build.step(Kind::Chain, "main", None, 0, 9000);
    build.run.root = Some(StepId::new(root));
    let one = build.agent("one", None, 10, 2000);
    build.run.steps[one].parent = Some(StepId::new(root));
    build.run.steps[root].scope = ScopeId::FIRST;
    let first = build.llm(one, 20, 500, &[user("First?")], Some(assistant("One.")));
    build.llm(one, 600, 900, &[user("And then?")], Some(assistant("One more.")));
    let two = build.agent("two", None, 1000, 3000);
    build.run.steps[two].parent = Some(StepId::new(root));
    let history = [user("Old?"), assistant("Old."), user("Second?")];
    let last = build.llm(two, 1100, 1500, &history, Some(assistant("Two.")));
    build.ask("First?", first, true);
    build.answer("Two.", last, true);
    build.run
}

/// The root and a tool have not ended; a span without facts is in between.
pub(crate) fn running() -> Run {
    let mut build = Build::new();
    let root = build.agent("slow", None, 0, 0);
    let link = build.step(Kind::Plain, "POST", Some(root), 5, 3000);
    build.step(Kind::Plain, "SELECT", Some(root), 6, 7);
    let wanted = calling(vec![call("c1", "sleep", json!({}))]);
    let first = build.llm(link, 10, 500, &[user("Sleep.")], Some(wanted));
    let tool = build.tool(first, 0, 600, 700, Ok(Value::Null));
    build.run.steps[tool].ended_at = None;
    build.run.scopes[0].conversation.pop();
    build.run.steps[root].ended_at = None;
    build.run.ended_at = None;
    build.ask("Sleep.", first, true);
    build.run
}

/// A child whose clock is behind.
pub(crate) fn skewed() -> Run {
    let mut run = trip_planner();
    run.steps[2].started_at = ms(20);
    run
}

/// Question and answer are on the agent alone; its only work is a tool.
pub(crate) fn only_agent() -> Run {
    let mut build = Build::new();
    let root = build.agent("quiet", None, 0, 1000);
    build.op(root).input = json!({"city": "Rome"}).into();
    build.op(root).output = "Sunny".into();
    build.lone_tool("weather", root, 100, 200, json!({"city": "Rome"}), json!({"sky": "clear"}));
    build.ask("{}", root, false);
    build.run.question.as_mut().unwrap().content = json!({"city": "Rome"});
    build.answer("Sunny", root, false);
    build.run
}

/// Images, sound and parts of an unknown type.
pub(crate) fn media() -> Run {
    use crate::operation::Part;
    use crate::operation::message::Media;
    let mut build = Build::new();
    let root = build.agent("eye", None, 0, 1000);
    let part = |modality: &str, mime: &str| Media {
        modality: modality.to_owned(),
        mime_type: Some(mime.to_owned()),
        uri: None,
        base64: Some("AAAA".to_owned()),
        raw: json!({"type": modality, "data": "AAAA"}),
    };
    let mut asked = user("What is this?");
    asked.parts.push(Part::from(part("image", "image/png")));
    asked.parts.push(Part::from(part("audio", "audio/wav")));
    asked.parts.push(Part::Other(json!({"type": "citation", "n": 1})));
    let first = build.llm(root, 10, 500, &[asked], Some(assistant("An otter.")));
    build.ask("What is this?", first, true);
    build.answer("An otter.", first, true);
    build.run
}

/// The model call failed; the next one, with the same words, did not.
pub(crate) fn failed_model() -> Run {
    let mut build = Build::new();
    let root = build.agent("unlucky", None, 0, 1000);
    let first = build.llm(root, 10, 100, &[user("Hello?")], None);
    build.op(first).failure = Some(failure("429 slow down", "RateLimitError"));
    let mut choices = assistant("Hello!");
    choices.finish_reason = Some("stop".to_owned());
    let last = build.llm(root, 200, 300, &[], Some(choices.clone()));
    build.op(last).output_messages = Some(vec![choices, assistant("Hi!")]);
    build.ask("Hello?", last, true);
    build.answer("Hello!", last, true);
    build.run.failure = Some(crate::run::RunFailure {
        failure: failure("429 slow down", "RateLimitError"),
        span_id: span(1),
    });
    build.run
}

/// Forty agents, each called by a tool of the one before.
pub(crate) fn deep() -> Run {
    let mut build = Build::new();
    let mut agent = build.agent("agent", None, 0, 9000);
    for level in 0..40 {
        let from = level * 10;
        let wanted = calling(vec![call("c1", "ask", json!({ "level": level }))]);
        let llm = build.llm(agent, from + 1, from + 2, &[user(&format!("Level {level}?"))], Some(wanted));
        let tool = build.tool(llm, 0, from + 3, 9000 - from, Ok(level.into()));
        agent = build.agent("agent", Some(tool), from + 4, 8999 - from);
    }
    build.llm(agent, 500, 600, &[user("The last?")], Some(assistant("The last.")));
    build.run
}

/// The user's words and the answer are separate operations; an interrupt is left unanswered.
pub(crate) fn people() -> Run {
    let mut build = Build::new();
    let root = build.agent("clerk", None, 0, 1000);
    let asked = build.step(Kind::UserInput, "user_prompt", Some(root), 5, 5);
    build.op(asked).input = "Where?".into();
    let also = build.step(Kind::UserInput, "user_prompt", Some(root), 6, 6);
    build.op(also).input = "Quick!".into();
    build.llm(root, 10, 100, &[user("Where?")], Some(assistant("Here.")));
    let open = build.step(Kind::Interrupt, "approve", Some(root), 110, 120);
    build.op(open).interrupt = Some(Box::new(crate::operation::Interrupt {
        prompt: Some("Sure?".to_owned()),
        ..Default::default()
    }));
    let said = build.step(Kind::FinalOutput, "answer", Some(root), 130, 130);
    build.op(said).output = "It is here.".into();
    build.ask("Where?", asked, true);
    build.answer("It is here.", said, false);
    build.run
}

/// No content was recorded.
pub(crate) fn no_content() -> Run {
    let mut build = Build::new();
    let root = build.agent("silent", None, 0, 1000);
    let first = build.llm(root, 10, 100, &[], None);
    build.op(first).input_messages = None;
    build.op(first).model.response = None;
    build.op(first).usage = tokens(5, 6, 11);
    build.run
}

/// One agent, a turn with two parallel calls, the second of which fails, and a final answer.
pub(crate) fn trip_planner() -> Run {
    let mut build = Build::new();
    let question = "Weather in Bogotá and a flight on Friday?";
    let root = build.agent("trip-planner", None, 0, 3100);
    build.run.agent.version = Some("1.2.0".to_owned());
    build.run.agent.framework = Some("langgraph".to_owned());
    let system = Message::text(Role::System, "You plan trips.");
    let mut wanted = calling(vec![
        call("call_1", "get_weather", json!({"city": "Bogotá"})),
        call("call_2", "search_flights", json!({"to": "BOG", "day": "Friday"})),
    ]);
    wanted.parts.push(crate::operation::Part::thought("Both calls are independent."));
    let first = build.llm(root, 50, 1250, &[system, user(question)], Some(wanted));
    build.op(first).usage = tokens(82, 41, 123);
    build.op(first).prompt.id = Some("planner".to_owned());
    let weather = build.tool(first, 0, 1300, 1800, Ok(json!({"forecast": "22 °C cloudy"})));
    build.op(weather).tool.as_mut().unwrap().mcp_server = Some("weather".to_owned());
    build.tool(first, 1, 1300, 2300, Err(failure("timeout after 1000 ms", "timeout")));
    let answered = |id: &str, text: &str| Message {
        tool_call_id: Some(id.to_owned()),
        ..Message::text(Role::Tool, text)
    };
    let results = [
        answered("call_1", "{\"forecast\":\"22 °C cloudy\"}"),
        answered("call_2", "Error: timeout after 1000 ms"),
    ];
    let answer = "22 °C, cloudy. No flights found.";
    let second = build.llm(root, 2350, 3000, &results, Some(assistant(answer)));
    // The client does not send reasoning back.
    build.op(second).input_messages.as_mut().unwrap().to_mut()[2].parts.clear();
    build.op(second).usage = tokens(150, 33, 183);
    build.op(second).prompt.id = Some("planner".to_owned());
    build.op(root).input = question.into();
    build.op(root).output = answer.into();
    build.ask(question, first, true);
    build.answer(answer, second, true);
    build.run
}

/// Every format writes every sample with every option, the same each time.
///
/// With `SPANBRIDGE_SAMPLES=<dir>` the documents are written there, for the checks by the formats' own packages.
#[test]
fn samples_are_written_the_same_each_time() {
    let choices: [&[(&str, &str)]; 5] = [
        &[],
        &[("invariant.container", "jsonl"), ("invariant.subagents", "own")],
        &[
            ("invariant.container", "push"),
            ("invariant.tools", "event"),
            ("invariant.reasoning", "prepend"),
        ],
        &[
            ("contextforge.embeddings", "retrieval"),
            ("reflex.optimize", "planner"),
            ("atif.subagents", "files"),
        ],
        &[
            ("messages.flavour", "openai"),
            ("messages.rows", "turn"),
            ("messages.tools", "text"),
        ],
    ];
    for (name, run) in samples() {
        for (number, choice) in choices.iter().enumerate() {
            let pairs = choice.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
            let options = Options(pairs.collect());
            for format in FORMATS {
                let write = || format.assemble(std::slice::from_ref(&run), &options, Layout::Indented);
                let again = write();
                for (place, (one, again)) in write().into_iter().zip(again).enumerate() {
                    assert_eq!(one.document, again.document, "{name} as {}", format.id);
                    assert!(!one.losses.iter().any(|loss| loss.what.starts_with("document:")));
                    if let Some(directory) = std::env::var_os("SPANBRIDGE_SAMPLES") {
                        let file = format!("{name}.{number}.{place}.{}.json", format.id);
                        std::fs::write(std::path::Path::new(&directory).join(file), &one.document).unwrap();
                    }
                }
            }
        }
    }
}
