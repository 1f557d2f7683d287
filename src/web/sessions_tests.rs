//! Sessions and orders of lists.

use super::*;
use crate::web::listing::Summary;

fn run(question: &str, cost: Option<f64>, status: &str) -> Listed {
    Listed {
        service: Some("client".to_owned()),
        summary: Summary {
            agent_work: true,
            question: Some(question.to_owned()),
            answer: Some(format!("answer to {question}")),
            status: status.to_owned(),
            cost_usd: cost,
            input_tokens: Some(10),
            ..Summary::default()
        },
        ..Listed::default()
    }
}

#[test]
fn a_session_has_its_first_question_and_its_last_answer() {
    let of = SessionSummary::of(&[run("one", None, "ok"), run("two", Some(0.5), "error"), Listed::default()]);
    assert_eq!((of.question.as_deref(), of.answer.as_deref()), (Some("one"), Some("answer to two")));
    assert_eq!((of.runs, of.failed_runs, of.cost_usd), (2, 1, Some(0.5)));
    assert_eq!(
        (of.input_tokens, of.output_tokens, of.agent.as_deref()),
        (Some(20), None, Some("client"))
    );
}

#[test]
fn what_has_no_number_comes_last() {
    let mut runs = [run("none", None, "ok"), run("less", Some(0.1), "ok"), run("more", Some(2.0), "ok")];
    assert_eq!(sort(&mut runs, RUN_SORTS, "cost"), Ok(()));
    let questions = runs.iter().filter_map(|listed| listed.summary.question.as_deref());
    assert_eq!(questions.collect::<Vec<_>>(), ["more", "less", "none"]);
    assert!(sort(&mut runs, RUN_SORTS, "beauty").is_err_and(|names| names.starts_with("started, took")));
}
