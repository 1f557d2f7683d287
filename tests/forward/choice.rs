//! What a destination gets of what is stored: by service, session and kind, by sampling, without what is redacted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use spanbridge::forward::order::{self, Order};
use spanbridge::forward::{ChooseText, DestinationText, Dialect, SampleText};
use spanbridge::otlp::{encode, scan};
use spanbridge::redact::{Action, RuleText};
use spanbridge::span::{Resource, Signal, Span, Status};
use spanbridge::store::{Append as _, Chunk, Filter, Local, OpenOptions, Read as _, Subscribe as _};

use super::sink::{Answer, Sink};
use super::support::{Bridge, names, spans, to, until};

const NOT_CHOSEN: &str = "spanbridge_forward_not_chosen_spans_total";

fn named(mut spans: Vec<Span>, service: &str) -> Vec<Span> {
    let mut resource = Resource::default();
    resource.attributes.push("service.name", service);
    let resource = Arc::new(resource);
    spans.iter_mut().for_each(|span| span.resource = Arc::clone(&resource));
    spans
}

fn choosing(url: &str, choose: ChooseText) -> DestinationText {
    DestinationText {
        choose: Some(choose),
        ..to(url)
    }
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|word| (*word).to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn services_and_kinds_choose_spans() {
    let directory = tempfile::tempdir().unwrap();
    let sink = Sink::start(|_| Answer::ok()).await;
    let choose = ChooseText {
        services: words(&["agent-*"]),
        kinds: words(&["llm"]),
        ..ChooseText::default()
    };
    let bridge = Bridge::start(directory.path(), &[choosing(&sink.url(), choose)]).await;
    let mut mixed = named(spans(0, 0..2), "agent-a");
    mixed[1].attributes.push("openinference.span.kind", "LLM");
    let mut others = named(spans(0, 2..4), "shop");
    others[1].attributes.push("openinference.span.kind", "LLM");
    mixed.append(&mut others);
    bridge.send_spans(&mixed).await;
    assert_eq!(names(&sink.wait_for(1).await), ["span 1"]);
    until("the others are counted", || async { bridge.metric(NOT_CHOSEN, "sink").await == 3 }).await;
    bridge.stop().await;
}

/// Whether a trace is chosen, the index says: it knows what is announced as new.
#[test]
fn what_is_announced_is_in_the_index() {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(Local::open(&OpenOptions::new(directory.path())).unwrap().store);
    let end = store.watch_end().unwrap();
    let (checked, was_checked) = std::sync::mpsc::channel();
    let listed = Arc::clone(&store);
    let watching = std::thread::spawn(move || {
        let mut before = *end.borrow();
        for number in 0..200 {
            while *end.borrow() == before {
                std::thread::yield_now();
            }
            before = *end.borrow();
            let filter = Filter {
                traces: vec![spans(number, 0..1)[0].trace_id],
                ..Filter::default()
            };
            assert_eq!(listed.list(&filter).unwrap().len(), 1, "trace {number}");
            checked.send(()).unwrap();
        }
    });
    for number in 0..200 {
        let message = encode::traces(&spans(number, 0..1));
        let scanned = scan::scan(&message, Signal::Traces, &[]).unwrap();
        store.append(Chunk::of_request(scanned, message)).unwrap();
        if was_checked.recv().is_err() {
            break;
        }
    }
    watching.join().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_chooses_its_traces_whole() {
    let directory = tempfile::tempdir().unwrap();
    let sink = Sink::start(|_| Answer::ok()).await;
    let choose = ChooseText {
        sessions: words(&["s-1*"]),
        ..ChooseText::default()
    };
    let bridge = Bridge::start(directory.path(), &[choosing(&sink.url(), choose)]).await;
    bridge.send_spans(&spans(0, 0..1)).await;
    bridge.send_spans(&spans(1, 10..11)).await;
    until("no session is known yet", || async { bridge.metric(NOT_CHOSEN, "sink").await == 2 }).await;
    let mut late = spans(0, 1..2);
    late[0].attributes.push("session.id", "s-17");
    bridge.send_spans(&late).await;
    assert_eq!(names(&sink.wait_for(2).await), ["span 0", "span 1"]);
    bridge.stop().await;
}

/// A destination that answers 503 until the flag is set.
async fn sink_that_is_down() -> (Sink, Arc<AtomicBool>) {
    let is_up = Arc::new(AtomicBool::new(false));
    let up = Arc::clone(&is_up);
    let sink = Sink::start(move |_| match up.load(Ordering::Relaxed) {
        true => Answer::ok(),
        false => Answer::status(503),
    })
    .await;
    (sink, is_up)
}

/// An order interrupts a batch, and then it is prepared again: what came of its traces before they were chosen goes with it.
#[tokio::test(flavor = "multi_thread")]
async fn what_came_before_is_sent_although_an_order_interrupts() {
    let directory = tempfile::tempdir().unwrap();
    let (sink, is_up) = sink_that_is_down().await;
    let choose = ChooseText {
        sessions: words(&["s-1*"]),
        ..ChooseText::default()
    };
    let bridge = Bridge::start(directory.path(), &[choosing(&sink.url(), choose)]).await;
    bridge.send_spans(&spans(0, 0..1)).await;
    until("no session is known yet", || async { bridge.metric(NOT_CHOSEN, "sink").await == 1 }).await;
    let mut late = spans(0, 1..2);
    late[0].attributes.push("session.id", "s-17");
    bridge.send_spans(&late).await;
    until("it is tried", || async { !sink.came().is_empty() }).await;
    let files = spanbridge::forward::folder(directory.path());
    order::give(&files, "sink", Order::Retry).unwrap();
    until("the order is taken", || async { order::waiting(&files, "sink").is_none() }).await;
    is_up.store(true, Ordering::Relaxed);
    assert_eq!(names(&sink.wait_for(2).await), ["span 0", "span 1"]);
    bridge.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_chosen_counts_once_when_an_order_interrupts_its_batch() {
    let directory = tempfile::tempdir().unwrap();
    let (sink, is_up) = sink_that_is_down().await;
    let choose = ChooseText {
        services: words(&["agent-*"]),
        ..ChooseText::default()
    };
    let bridge = Bridge::start(directory.path(), &[choosing(&sink.url(), choose)]).await;
    let mixed = [named(spans(0, 0..2), "agent-a"), named(spans(0, 2..5), "shop")].concat();
    bridge.send_spans(&mixed).await;
    until("it is tried", || async { !sink.came().is_empty() }).await;
    let files = spanbridge::forward::folder(directory.path());
    for _ in 0..2 {
        order::give(&files, "sink", Order::Retry).unwrap();
        until("the order is taken", || async { order::waiting(&files, "sink").is_none() }).await;
        let tried = sink.came().len();
        until("it is tried again", || async { sink.came().len() > tried }).await;
    }
    is_up.store(true, Ordering::Relaxed);
    until("it is sent", || async {
        bridge.metric("otelcol_exporter_sent_spans", "sink").await == 2
    })
    .await;
    until("the others are counted", || async { bridge.metric(NOT_CHOSEN, "sink").await > 0 }).await;
    assert_eq!(bridge.metric(NOT_CHOSEN, "sink").await, 3);
    bridge.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sampling_keeps_traces_that_failed_or_took_long_with_what_came_before() {
    let directory = tempfile::tempdir().unwrap();
    let sink = Sink::start(|_| Answer::ok()).await;
    let destination = DestinationText {
        sample: Some(SampleText {
            share: 0.5,
            keep_slower_than_seconds: Some(60.0),
            ..SampleText::default()
        }),
        ..to(&sink.url())
    };
    let bridge = Bridge::start(directory.path(), &[destination]).await;
    // The ids of these traces have hardly any randomness: they are not in the sample.
    for trace in 0..3 {
        bridge.send_spans(&spans(trace, trace * 10..trace * 10 + 1)).await;
    }
    until("they are left", || async { bridge.metric(NOT_CHOSEN, "sink").await == 3 }).await;
    let mut failed = spans(0, 1..2);
    failed[0].status = Status {
        code: 2,
        ..Status::default()
    };
    bridge.send_spans(&failed).await;
    let mut slow = spans(1, 11..12);
    slow[0].end.0 += 61_000_000_000;
    bridge.send_spans(&slow).await;
    bridge.send_spans(&spans(0, 2..3)).await;
    assert_eq!(
        names(&sink.wait_for(5).await),
        ["span 0", "span 1", "span 10", "span 11", "span 2"],
        "each once, and nothing of the third trace"
    );
    bridge.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_destination_redacts_what_another_one_gets() {
    let directory = tempfile::tempdir().unwrap();
    let (open, closed) = (Sink::start(|_| Answer::ok()).await, Sink::start(|_| Answer::ok()).await);
    let rule = RuleText {
        name: None,
        key: Some("gen_ai.input.messages".to_owned()),
        value: None,
        action: Action::Remove,
        scope: Vec::new(),
    };
    let redacting = DestinationText {
        name: Some("closed".to_owned()),
        dialect: Some(Dialect::OpenInference),
        redact: vec![rule],
        ..to(&closed.url())
    };
    let bridge = Bridge::start(directory.path(), &[to(&open.url()), redacting]).await;
    let mut call = spans(0, 0..1);
    call[0].attributes.push("gen_ai.operation.name", "chat");
    let said = r#"[{"role":"user","parts":[{"type":"text","content":"my secret"}]}]"#;
    call[0].attributes.push("gen_ai.input.messages", said);
    bridge.send_spans(&call).await;
    let has_secret = |spans: &[Span]| format!("{spans:?}").contains("my secret");
    assert!(has_secret(&open.wait_for(1).await));
    let came = closed.wait_for(1).await;
    assert!(!has_secret(&came), "{came:?}");
    assert_eq!(came[0].attributes.text("openinference.span.kind"), Some("LLM"));
    bridge.stop().await;
}

#[test]
fn what_makes_no_sense_is_refused() {
    let sample = |share| DestinationText {
        sample: Some(SampleText {
            share,
            ..SampleText::default()
        }),
        ..to("http://127.0.0.1:4318")
    };
    for share in [-0.1, 1.5, f64::NAN] {
        assert!(sample(share).resolve(None).unwrap_err().to_string().contains("0 to 1"), "{share}");
    }
    assert!(sample(0.0).resolve(None).is_ok() && sample(1.0).resolve(None).is_ok());
    let kinds = ChooseText {
        kinds: words(&["model"]),
        ..ChooseText::default()
    };
    let error = choosing("http://127.0.0.1:4318", kinds).resolve(None).unwrap_err().to_string();
    assert!(error.contains("llm, "), "{error}");
}
