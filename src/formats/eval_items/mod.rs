//! Data set items for evaluation: what a run was asked and should answer, in the formats of four readers.
//!
//! | `--to` | document | how it is loaded |
//! |---|---|---|
//! | `pydantic-evals` | one data set of all runs | `pydantic_evals.Dataset.from_file("set.pydantic-evals.yaml")`; its text is JSON, which is valid YAML |
//! | `langfuse-items` | one item per run | the body of `POST /api/public/dataset-items` |
//! | `langsmith-examples` | one example per run | `Client.create_examples(dataset_id=..., examples=[...])` |
//! | `braintrust-records` | one record per run | `braintrust.init_dataset(...).insert(**record)` |
//!
//! | part | from |
//! |---|---|
//! | input | the run's question |
//! | expected output | the recorded ideal (`ideal`), if all operations that have one agree; else the answer of a successful run; else none |
//! | metadata | the trace, the session, the agent, the status, the tools that were called, and other facts of the run |
//!
//! # What is lost
//!
//! Everything between the question and the answer: messages, calls with their arguments and results, times, tokens, cost. A run
//! without a question produces no item.

use std::collections::BTreeSet;

use crate::document::choice::{Choice, Options, choices};
use crate::document::json::{Json, Object, Text};
use crate::document::loss::{Loss, LossReason};
use crate::document::records::records;
use crate::document::shape::Shape::{Any, List, Object as AnyObject, Of, Text as Words};
use crate::formats::format::{Assembled, Container, Format, by_table};
use crate::operation::Kind;
use crate::run::{Run, RunStatus};
use crate::transcript::losses::Losses;
use crate::transcript::{calls, content, facts};

records! {
    DATASET "a data set", only "the loader refuses it" {
        may name: Words;
        need cases: List(&Of(&CASE));
    }
    CASE "a case", only "the loader refuses it" {
        may name: Words;
        need inputs: Any;
        may metadata: AnyObject;
        may expected_output: Any;
    }
    ITEM "an item" {
        need datasetName: Words;
        may id: Words;
        may input: Any;
        may expectedOutput: Any;
        may metadata: AnyObject;
        may sourceTraceId: Words;
    }
    EXAMPLE "an example" {
        may id: Words;
        need inputs: AnyObject;
        may outputs: AnyObject;
        may metadata: AnyObject;
    }
    RECORD "a record" {
        may id: Words;
        need input: Any;
        may expected: Any;
        may metadata: AnyObject;
        may tags: List(&Words);
    }
}

/// What a run was asked and should answer.
struct Item<'a> {
    trace: String,
    input: Text<'a>,
    expected: Option<Text<'a>>,
    metadata: Object<'a>,
    tags: Json<'a>,
    losses: Vec<Loss>,
}

/// The item of a run; `None` if it has no question.
fn item(run: &Run) -> Option<Item<'_>> {
    let input = content::text(&run.question.as_ref()?.content);
    let ideals = || run.steps.iter().filter_map(|step| step.operation.training.ideal.as_ref());
    let ideal = ideals().next().filter(|first| ideals().all(|ideal| ideal == *first));
    let status = run.status();
    let answer = run.answer.as_ref().filter(|_| status == RunStatus::Ok);
    let expected = ideal.or(answer.map(|answer| &answer.content)).map(content::text);
    let tools = run.steps.iter().filter(|step| step.operation.kind == Kind::Tool);
    let tools: BTreeSet<&str> = tools.map(|step| calls::tool_name(run, step)).collect();
    let mut metadata = Object::from([("trace_id", run.trace_id.to_string().into()), ("status", status.name().into())]);
    metadata.add_filled("session_id", run.session_id.as_deref());
    metadata.add_filled("agent", run.agent.name.as_deref());
    metadata.add_filled("tools", tools.into_iter().map(Json::from).collect::<Json<'_>>());
    let mut losses = Losses::default();
    losses.operations(run);
    for (key, value) in facts::of_run_and_agent(run).iter() {
        metadata.insert_new(key.to_owned(), value.into_owned());
    }
    let mut losses = losses.finish();
    losses.retain(|loss| !loss.what.starts_with("run."));
    if ideal.is_none() && expected.is_some() {
        losses.push(Loss::new(None, "expected output: the run's own answer", LossReason::Synthesized));
    }
    Some(Item {
        trace: run.trace_id.to_string(),
        input,
        expected,
        tags: metadata.get("tags").map(|tags| tags.into_owned()).unwrap_or_default(),
        metadata,
        losses,
    })
}

fn items<'a>(runs: &'a [Run], write: impl Fn(Item<'a>) -> Object<'a>) -> Vec<Assembled<Object<'a>>> {
    let items = runs.iter().filter_map(item).map(|mut item| Assembled {
        losses: std::mem::take(&mut item.losses),
        document: write(item),
    });
    items.collect()
}

/// A trace's id as a UUID.
fn uuid(trace: &str) -> String {
    let parts = [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)];
    parts.map(|(from, to)| trace.get(from..to).unwrap_or_default()).join("-")
}

const LOSES: &str = "everything between the question and the answer";

/// Defines an item format: its name, what it keeps, its table, and how an item is written.
macro_rules! item_format {
    ($(#[$doc:meta])* $name:ident, $id:literal, $keeps:literal, $shape:expr, $options:expr, $write:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct $name;

        impl Format for $name {
            const ID: &'static str = $id;
            const KEEPS: &'static str = $keeps;
            const LOSES: &'static str = LOSES;
            const WHOLE_INPUTS: bool = false;
            const OPTIONS: &'static [Choice] = $options;
            type Document<'a> = Object<'a>;

            fn assemble<'a>(runs: &'a [Run], options: &Options) -> Vec<Assembled<Object<'a>>> {
                let write: fn(&Options, Item<'a>) -> Object<'a> = $write;
                items(runs, |item| write(options, item))
            }

            by_table!($shape);
        }
    };
}

item_format!(
    /// Items of Langfuse's data sets.
    Langfuse,
    "langfuse-items",
    "an item of a Langfuse data set: question, expected output, metadata, source trace",
    Of(&ITEM),
    choices! {
        "langfuse-items.dataset" of Text("NAME"), "spanbridge", "the name of the data set that the items are for";
    },
    |options, item| ITEM.given([
        ("datasetName", options.get("langfuse-items.dataset").unwrap_or("spanbridge").to_owned().into()),
        ("id", item.trace.clone().into()),
        ("input", item.input.into()),
        ("expectedOutput", item.expected.into()),
        ("metadata", item.metadata.into()),
        ("sourceTraceId", item.trace.into()),
    ])
);

item_format!(
    /// Examples of LangSmith's data sets.
    LangSmith,
    "langsmith-examples",
    "an example of a LangSmith data set: inputs, outputs, metadata",
    Of(&EXAMPLE),
    &[],
    |_, item| EXAMPLE.given([
        ("id", uuid(&item.trace).into()),
        ("inputs", Object::from([("input", item.input.into())]).into()),
        (
            "outputs",
            item.expected.map(|words| Object::from([("output", words.into())])).into(),
        ),
        ("metadata", item.metadata.into()),
    ])
);

item_format!(
    /// Records of Braintrust's data sets.
    Braintrust,
    "braintrust-records",
    "a record of a Braintrust data set: input, expected, metadata, tags",
    Of(&RECORD),
    &[],
    |_, item| RECORD.given([
        ("id", item.trace.into()),
        ("input", item.input.into()),
        ("expected", item.expected.into()),
        ("metadata", item.metadata.into()),
        ("tags", item.tags),
    ])
);

/// A data set of `pydantic_evals`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PydanticEvals;

impl Format for PydanticEvals {
    const ID: &'static str = "pydantic-evals";
    const KEEPS: &'static str = "a data set of pydantic-evals with a case for each run: inputs, expected output, metadata";
    const LOSES: &'static str = LOSES;
    const WHOLE_INPUTS: bool = false;
    const CONTAINER: Option<Container> = Some(Container {
        ending: "yaml",
        pack: |json| Ok(json.as_bytes().to_vec()),
        #[cfg(feature = "server")]
        unpack: None,
    });
    type Document<'a> = Object<'a>;

    fn assemble<'a>(runs: &'a [Run], _: &Options) -> Vec<Assembled<Object<'a>>> {
        let mut losses = Vec::new();
        let cases = items(runs, |item| {
            CASE.given([
                ("name", item.trace.into()),
                ("inputs", item.input.into()),
                ("metadata", item.metadata.into()),
                ("expected_output", item.expected.into()),
            ])
        });
        if cases.is_empty() {
            return Vec::new();
        }
        let cases = cases.into_iter().map(|mut case| {
            losses.append(&mut case.losses);
            case.document
        });
        let cases = cases.collect::<Json<'_>>();
        let agent = runs.iter().find_map(|run| run.agent.name.as_deref()).unwrap_or("spanbridge");
        let document = DATASET.given([("name", agent.into()), ("cases", cases)]);
        vec![Assembled { document, losses }]
    }

    fn takes_all(_: &Options) -> bool {
        true
    }

    by_table!(Of(&DATASET));
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::formats::by_id;
    use crate::formats::testing::{mixed_up, samples};

    const IDS: [&str; 4] = ["pydantic-evals", "langfuse-items", "langsmith-examples", "braintrust-records"];

    fn documents(runs: &[Run], id: &str) -> Vec<Value> {
        let format = by_id(id).unwrap();
        let made = format.assemble(runs, &Options::default(), crate::formats::Layout::Compact);
        made.iter().map(|made| serde_json::from_str(&made.document).unwrap()).collect()
    }

    #[test]
    fn a_run_is_its_question_and_its_answer() {
        let runs = [samples::sub_agents()];
        let [evals, langfuse, langsmith, braintrust] = IDS.map(|id| documents(&runs, id).remove(0));
        let (question, answer) = ("Weather in Oslo?", "It is cold in Oslo.");
        let case = &evals["cases"][0];
        assert_eq!((&case["inputs"], &case["expected_output"]), (&json!(question), &json!(answer)));
        assert_eq!(case["metadata"]["tools"], json!(["ask_weather", "lookup"]));
        assert_eq!(
            (&langfuse["input"], &langfuse["expectedOutput"]),
            (&json!(question), &json!(answer))
        );
        assert_eq!(
            (&langfuse["sourceTraceId"], &langfuse["datasetName"]),
            (&case["metadata"]["trace_id"], &json!("spanbridge"))
        );
        assert_eq!(
            (&langsmith["inputs"]["input"], &langsmith["outputs"]["output"]),
            (&json!(question), &json!(answer))
        );
        assert_eq!((&braintrust["input"], &braintrust["expected"]), (&json!(question), &json!(answer)));
    }

    #[test]
    fn items_hold_the_rules() {
        let runs = samples::samples().into_iter().map(|(_, run)| run).chain(mixed_up::mixed_up());
        let runs: Vec<Run> = runs.collect();
        let asked = runs.iter().filter(|run| run.question.is_some()).count();
        for (id, shape) in IDS.into_iter().zip([Of(&DATASET), Of(&ITEM), Of(&EXAMPLE), Of(&RECORD)]) {
            let documents = documents(&runs, id);
            assert!(documents.iter().all(|document| shape.holds(document)), "{id}");
            let count = documents
                .iter()
                .map(|document| document["cases"].as_array().map_or(1, Vec::len))
                .sum::<usize>();
            assert_eq!(count, asked, "{id}");
        }
    }
}
