//! What holds of every store, whichever engine stands behind it.
#![expect(clippy::expect_used, reason = "a test")]
#![allow(dead_code, unused_macro_rules, reason = "not every test program has each kind of engine")]

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use spanbridge::otlp::{decode, encode, scan};
use spanbridge::span::{AnyValue, Attributes, LogRecord, Signal, Span, UnixNanos};
use spanbridge::store::{
    ArrivalLimits, Chunk, ChunkKind, Deleted, Error, Filter, IdPrefix, Order, Position, Receipt, Store, TraceRow, Unwanted,
};

use crate::spans::{KEYS, chunks, of_service, span, trace};

/// A test of each law for an engine. `$open` gives an empty store, and what must not be dropped before it.
macro_rules! suite {
    // The laws of deletion on request, for an engine that can.
    (deletion: $engine:ident, $open:expr) => {
        mod $engine {
            crate::store_suite::suite!(@ $open,
                a_deleted_trace_is_gone_and_stays_gone,
                a_deleted_trace_is_of_no_service,
                a_deleted_session_takes_its_traces_and_log_records_and_no_other,
            );
        }
    };
    // The laws of an engine whose arrivals are those that have reached another place, which takes a while.
    (late arrivals: $engine:ident, $open:expr) => {
        crate::store_suite::suite!(@of $engine, $open, late_arrivals_are_read_in_order_from_a_position_that_lasts);
    };
    ($engine:ident, $open:expr) => {
        crate::store_suite::suite!(@of $engine, $open, arrivals_are_read_in_order_from_a_position_that_lasts);
    };
    (@of $engine:ident, $open:expr, $arrivals:ident) => {
        mod $engine {
            crate::store_suite::suite!(@ $open,
                what_was_appended_is_found_at_once,
                a_replay_is_acknowledged_stored_once_and_counted,
                lists_are_filtered,
                a_trace_is_found_by_each_of_its_services,
                traces_are_found_by_the_first_digits_of_their_ids,
                each_chunk_of_a_trace_is_found_by_what_it_has,
                pages_of_traces_hold_each_once,
                a_list_has_what_is_wanted_up_to_its_limit,
                pages_of_sessions_hold_each_once_the_latest_first,
                loose_log_records_are_read_with_the_traces_of_their_session_in_their_time,
                a_loose_log_record_raises_the_revision_of_each_trace_of_its_session,
                an_append_at_a_revision_fails_once_something_else_came,
                of_racing_appends_at_a_revision_one_is_stored,
                $arrivals,
                what_is_computed_is_kept_for_its_revision,
                reading_is_given_up_when_asked_to,
                a_closed_store_takes_nothing,
            );
        }
    };
    (@ $open:expr, $($law:ident,)*) => {
        $(
            #[test]
            fn $law() {
                let (store, _stands_on) = $open;
                crate::store_suite::$law(&store);
            }
        )*
    };
}
pub(crate) use suite;

type Opened = Arc<dyn Store>;

fn spans_of(store: &Opened, of: u8) -> Vec<Span> {
    let stored = store.read_trace(trace(of)).expect("reads");
    stored.map_or_else(Vec::new, |stored| stored.spans)
}

fn traces_of(store: &Opened, filter: Filter) -> Vec<u8> {
    let rows = store.list(&filter).expect("lists");
    rows.iter().map(|row| row.trace_id.bytes()[0]).collect()
}

pub(crate) fn what_was_appended_is_found_at_once(store: &Opened) {
    let spans = [span(1, 1), span(2, 1), span(1, 2)];
    let receipt = store.append(chunks(&spans)).expect("appends");
    assert_eq!(
        receipt,
        Receipt {
            stored: 3,
            duplicates: 0,
            deleted: 0
        }
    );
    assert_eq!(spans_of(store, 1), [spans[0].clone(), spans[2].clone()]);
    assert_eq!(store.read_trace(trace(3)).expect("reads").is_none(), spans_of(store, 3).is_empty());
    let row = store.row(trace(1)).expect("reads").expect("a row");
    assert_eq!(
        (row.root.as_deref(), row.spans, row.errors, row.root_ended),
        (Some("span 1"), 2, 0, true)
    );
    assert_eq!((row.start, row.end, row.session.as_deref()), (1_001, 1_502, Some("session 1")));
    assert_eq!(row.revision, store.revision(trace(1)).expect("reads"));
    assert_eq!(
        (store.row(trace(3)).expect("reads"), store.revision(trace(3)).expect("reads")),
        (None, 0)
    );
    assert!(store.ready().is_ok() && store.appended_bytes() > 0);
}

pub(crate) fn a_replay_is_acknowledged_stored_once_and_counted(store: &Opened) {
    let spans = [span(1, 1), span(1, 2)];
    store.append(chunks(&spans)).expect("appends");
    let row = store.row(trace(1)).expect("reads");
    assert_eq!(
        store.append(chunks(&spans)).expect("appends"),
        Receipt {
            stored: 0,
            duplicates: 2,
            deleted: 0
        }
    );
    assert_eq!(store.row(trace(1)).expect("reads"), row);
    let mut twice = chunks(&[span(2, 1)]);
    twice.extend(chunks(&[span(2, 1)]));
    assert_eq!(
        store.append(twice).expect("appends"),
        Receipt {
            stored: 1,
            duplicates: 1,
            deleted: 0
        }
    );
    assert_eq!((spans_of(store, 1).len(), spans_of(store, 2).len()), (2, 1));
}

pub(crate) fn lists_are_filtered(store: &Opened) {
    for of in 1..=4 {
        store.append(chunks(&[span(of, 1)])).expect("appends");
    }
    let list = |filter| traces_of(store, filter);
    let filter = Filter::default;
    assert_eq!(
        list(Filter {
            session: Some("session 1".into()),
            ..filter()
        }),
        [3, 1]
    );
    assert_eq!(
        list(Filter {
            since: Some(3_001),
            ..filter()
        }),
        [4, 3]
    );
    assert_eq!(
        list(Filter {
            until: Some(3_001),
            order: Order::OldestFirst,
            ..filter()
        }),
        [1, 2]
    );
    assert_eq!(
        list(Filter {
            limit: Some(1),
            ..filter()
        }),
        [4]
    );
    assert_eq!(
        list(Filter {
            service: Some("none".into()),
            ..filter()
        }),
        [] as [u8; 0]
    );
    assert_eq!(
        list(Filter {
            traces: vec![trace(2), trace(9)],
            ..filter()
        }),
        [2]
    );
    assert_eq!(store.sessions(10, None).expect("lists").len(), 2);
    // An early trace that comes late.
    store.append(chunks(&[span(0x10, 1)])).expect("appends");
    store.append(chunks(&[span(5, 1)])).expect("appends");
    let latest = Filter {
        order: Order::LatestArrivalFirst,
        limit: Some(2),
        ..filter()
    };
    assert_eq!(list(latest), [5, 0x10]);
}

pub(crate) fn a_trace_is_found_by_each_of_its_services(store: &Opened) {
    // In one request, and in several.
    store
        .append(chunks(&[of_service(1, 1, "front"), of_service(1, 2, "back")]))
        .expect("appends");
    for (id, service) in [(1, "front"), (2, "back"), (3, "front")] {
        store.append(chunks(&[of_service(2, id, service)])).expect("appends");
    }
    store.append(chunks(&[of_service(3, 1, "back")])).expect("appends");
    let of = |service| traces_of_service(store, service);
    assert_eq!((of("front"), of("back"), of("none")), (vec![2, 1], vec![3, 2, 1], vec![]));
    let first = store.row(trace(2)).expect("reads").and_then(|row| row.service);
    assert_eq!(first.as_deref(), Some("front"));
}

pub(crate) fn a_deleted_trace_is_of_no_service(store: &Opened) {
    for of in 1..=2 {
        store
            .append(chunks(&[of_service(of, 1, "front"), of_service(of, 2, "back")]))
            .expect("appends");
    }
    store.delete(&Unwanted::Trace(trace(2)), &mut |_| Ok(())).expect("deletes");
    // It may get the row that the deleted one had.
    store.append(chunks(&[span(3, 1)])).expect("appends");
    let of = |service| traces_of_service(store, service);
    assert_eq!((of("front"), of("back")), (vec![1], vec![1]));
}

fn traces_of_service(store: &Opened, service: &str) -> Vec<u8> {
    let service = Some(service.to_owned());
    traces_of(
        store,
        Filter {
            service,
            ..Filter::default()
        },
    )
}

pub(crate) fn pages_of_traces_hold_each_once(store: &Opened) {
    for number in 1..=60_u8 {
        let mut span = span(number, 1);
        span.start = UnixNanos(1_000 + u64::from(number) * 37 % 11);
        store.append(chunks(&[span])).expect("appends");
    }
    for order in [Order::NewestFirst, Order::OldestFirst] {
        let whole = Filter {
            order,
            ..Filter::default()
        };
        let wanted = traces_of(store, whole.clone());
        assert_eq!(wanted.len(), 60);
        for limit in [1, 7, 60] {
            let (mut found, mut after) = (Vec::new(), None);
            loop {
                let filter = Filter {
                    limit: Some(limit),
                    after,
                    ..whole.clone()
                };
                let page = store.list(&filter).expect("lists");
                let Some(last) = page.last() else { break };
                after = Some(last.cursor());
                found.extend(page.iter().map(|row| row.trace_id.bytes()[0]));
            }
            assert_eq!(found, wanted, "{order:?}, pages of {limit}");
        }
    }
}

pub(crate) fn a_list_has_what_is_wanted_up_to_its_limit(store: &Opened) {
    for number in 1..=60_u8 {
        store.append(chunks(&[span(number, 1)])).expect("appends");
    }
    let of = |rows: Vec<TraceRow>| -> Vec<u8> { rows.iter().map(|row| row.trace_id.bytes()[0]).collect() };
    for order in [Order::NewestFirst, Order::OldestFirst, Order::LatestArrivalFirst] {
        for limit in [None, Some(1), Some(7), Some(20), Some(100)] {
            let filter = Filter {
                order,
                limit,
                ..Filter::default()
            };
            let whole = Filter {
                limit: None,
                ..filter.clone()
            };
            let mut third = traces_of(store, whole);
            third.retain(|number| number % 3 == 0);
            let wanted: Vec<u8> = third.iter().copied().take(limit.unwrap_or(usize::MAX)).collect();
            let found = store.list_wanted(&filter, &mut |cursor, revision| {
                assert_eq!(revision, store.revision(cursor.trace_id).expect("reads"));
                ControlFlow::Continue(cursor.trace_id.bytes()[0] % 3 == 0)
            });
            assert_eq!(of(found.expect("lists")), wanted, "{order:?}, {limit:?}");
            let mut asked = 0;
            let found = store.list_wanted(
                &Filter {
                    limit: None,
                    order,
                    ..Filter::default()
                },
                &mut |_, _| {
                    asked += 1;
                    if asked > 5 {
                        ControlFlow::Break(())
                    } else {
                        ControlFlow::Continue(true)
                    }
                },
            );
            assert_eq!((found.expect("lists").len(), asked), (5, 6));
        }
    }
}

pub(crate) fn pages_of_sessions_hold_each_once_the_latest_first(store: &Opened) {
    // Many traces begin at the same time, and some sessions have many.
    let mut wanted: BTreeMap<String, (u64, u64, u64, u64)> = BTreeMap::new();
    for number in 1..=120_u8 {
        let mut span = span(number, 1);
        span.start = UnixNanos(1_000 + u64::from(number) * 37 % 11);
        span.end = UnixNanos(span.start.0 + u64::from(number));
        let session = format!("session {}", u32::from(number) * 29 % 17);
        span.attributes = Attributes::default();
        span.attributes.push("session.id", session.as_str());
        store.append(chunks(std::slice::from_ref(&span))).expect("appends");
        let (traces, first, last, end) = wanted.entry(session).or_insert((0, u64::MAX, 0, 0));
        *traces += 1;
        (*first, *last, *end) = ((*first).min(span.start.0), (*last).max(span.start.0), (*end).max(span.end.0));
    }
    let mut wanted: Vec<_> = wanted.into_iter().collect();
    wanted.sort_by(|(a, (.., a_last, _)), (b, (.., b_last, _))| b_last.cmp(a_last).then(a.cmp(b)));
    for limit in [1, 2, 5, 17, 50] {
        let mut found = Vec::new();
        let mut after = None;
        loop {
            let page = store.sessions(limit, after.as_ref()).expect("lists");
            assert!(page.len() <= limit);
            let Some(row) = page.last() else { break };
            after = Some(row.cursor());
            found.extend(
                page.into_iter()
                    .map(|row| (row.session, (row.traces, row.start, row.last_start, row.end))),
            );
        }
        assert_eq!(found, wanted, "pages of {limit}");
    }
}

fn record(session: &str, at: u64) -> LogRecord {
    LogRecord {
        trace_id: None,
        span_id: None,
        time: Some(UnixNanos(at)),
        observed_time: None,
        severity: 0,
        severity_text: String::new(),
        event_name: "said".to_owned(),
        body: AnyValue::Empty,
        attributes: [("session.id".to_owned(), AnyValue::from(session))].into_iter().collect(),
        dropped_attributes: 0,
        flags: 0,
        resource: Arc::default(),
        scope: Arc::default(),
    }
}

fn chunks_of_records(records: &[LogRecord]) -> Vec<Chunk> {
    let bytes = encode::logs(records);
    let scanned = scan::scan(&bytes, Signal::Logs, &KEYS).expect("a request");
    Chunk::of_request(scanned, bytes)
}

pub(crate) fn loose_log_records_are_read_with_the_traces_of_their_session_in_their_time(store: &Opened) {
    store.append(chunks(&[span(1, 1), span(2, 1), span(3, 1)])).expect("appends");
    let records = [record("session 1", 1_200), record("session 1", 3_100), record("session 0", 1_200)];
    store.append(chunks_of_records(&records)).expect("appends");
    let logs = |of| store.read_trace(trace(of)).expect("reads").expect("a trace").logs;
    assert_eq!(logs(1), records[..1]);
    assert_eq!(logs(2), []);
    assert_eq!(logs(3), records[1..2]);
    let mut own = record("session 1", 1_300);
    own.trace_id = Some(trace(1));
    store.append(chunks_of_records(std::slice::from_ref(&own))).expect("appends");
    assert_eq!(logs(1), [own.clone(), records[0].clone()]);
    assert_eq!(store.read_logs(trace(1)).expect("reads"), [own]);
    let of_session = |name: &str| store.read_session_logs(name, &mut |_, _| Ok(())).expect("reads");
    assert_eq!(of_session("session 1"), records[..2]);
    assert_eq!(
        (of_session("session 0"), of_session("session 9")),
        (records[2..].to_vec(), Vec::new())
    );
}

pub(crate) fn a_loose_log_record_raises_the_revision_of_each_trace_of_its_session(store: &Opened) {
    let loose = |session: &str, time| {
        store.append(chunks_of_records(&[record(session, time)])).expect("appends");
    };
    let revisions = || [1, 2, 3].map(|number| store.revision(trace(number)).expect("reads"));
    // Before any trace names it, it changes nothing.
    loose("session 1", 1);
    store.append(chunks(&[span(1, 1), span(2, 1)])).expect("appends");
    let before = revisions();
    loose("session 1", 2);
    loose("session 1", 3);
    let [one, other, none] = revisions();
    assert!(one > before[0] && (other, none) == (before[1], 0));
    // One that comes later, and one that turns to the session: each chunk raises the revision by one.
    assert_eq!(append_at(store, 0, &[span(3, 1)]).expect("appends"), revisions()[2]);
    let mut nameless = span(5, 2);
    nameless.attributes = [("a".to_owned(), AnyValue::from("b"))].into_iter().collect();
    let first = append_at(store, 0, &[nameless]).expect("appends");
    assert_eq!(first, store.revision(trace(5)).expect("reads"));
    let second = append_at(store, first, &[span(5, 1)]).expect("appends");
    assert_eq!(second, store.revision(trace(5)).expect("reads"));
    let row = store.row(trace(5)).expect("reads").expect("is listed");
    assert_eq!((row.session.as_deref(), row.revision), (Some("session 1"), second));
    // All of them hear of the next one.
    let before = [1, 3, 5].map(|number| store.revision(trace(number)).expect("reads"));
    loose("session 1", 4);
    let after = [1, 3, 5].map(|number| store.revision(trace(number)).expect("reads"));
    assert!(
        before.iter().zip(after).all(|(before, after)| after > *before),
        "{before:?} {after:?}"
    );
    assert!(append_at(store, before[0], &[span(1, 2)]).is_err());
    assert!(append_at(store, after[0], &[span(1, 2)]).is_ok());
}

fn append_at(store: &Opened, revision: u64, spans: &[Span]) -> Result<u64, Error> {
    let (sender, receiver) = channel();
    let done = Box::new(move |result| sender.send(result).expect("listens"));
    store.submit_at(revision, chunks(spans).pop().expect("a chunk"), done);
    receiver.recv().expect("an answer")
}

pub(crate) fn an_append_at_a_revision_fails_once_something_else_came(store: &Opened) {
    let first = append_at(store, 0, &[span(1, 1)]).expect("appends");
    assert_eq!(first, store.revision(trace(1)).expect("reads"));
    let second = append_at(store, first, &[span(1, 2)]).expect("appends");
    for old in [0, first, second + 1] {
        let refused = append_at(store, old, &[span(1, 3)]);
        assert!(
            matches!(refused, Err(Error::Changed { trace_id }) if trace_id == trace(1)),
            "{refused:?}"
        );
    }
    assert_eq!(spans_of(store, 1).len(), 2, "what was refused is not there");
    assert!(store.ready().is_ok());
    // What comes without a revision counts too, also where a trace has no spans yet.
    store.append(chunks(&[span(1, 4)])).expect("appends");
    assert!(append_at(store, second, &[span(1, 3)]).is_err());
    let mut of_trace = record("session 0", 2_000);
    of_trace.trace_id = Some(trace(2));
    store.append(chunks_of_records(&[of_trace])).expect("appends");
    assert!(append_at(store, 0, &[span(2, 1)]).is_err());
    let revision = store.revision(trace(2)).expect("reads");
    assert!(append_at(store, revision, &[span(2, 1)]).expect("appends") > revision);
}

pub(crate) fn of_racing_appends_at_a_revision_one_is_stored(store: &Opened) {
    let revision = append_at(store, 0, &[span(1, 1)]).expect("appends");
    let stored = std::thread::scope(|scope| {
        let racers: Vec<_> = (2..=9)
            .map(|id| scope.spawn(move || append_at(store, revision, &[span(1, id)]).is_ok()))
            .collect();
        racers
            .into_iter()
            .map(|racer| racer.join().expect("no panic"))
            .filter(|stored| *stored)
            .count()
    });
    assert_eq!((stored, spans_of(store, 1).len()), (1, 2));
}

pub(crate) fn arrivals_are_read_in_order_from_a_position_that_lasts(store: &Opened) {
    arrivals(store, &|_| {});
}

pub(crate) fn late_arrivals_are_read_in_order_from_a_position_that_lasts(store: &Opened) {
    arrivals(store, &|count| {
        let all = ArrivalLimits {
            bytes: usize::MAX,
            latest: u64::MAX,
        };
        let until = Instant::now() + Duration::from_secs(20);
        while store.read_arrivals(Position::default(), all).expect("reads").chunks.len() < count {
            assert!(Instant::now() < until, "what was appended arrives");
            std::thread::sleep(Duration::from_millis(5));
        }
    });
}

/// `arrived` waits until so many have.
fn arrivals(store: &Opened, arrived: &dyn Fn(usize)) {
    let limits = ArrivalLimits {
        bytes: 1,
        latest: u64::MAX,
    };
    let mut end = store.watch_end().expect("open for writing");
    let none = store.read_arrivals(Position::default(), limits).expect("reads");
    assert!(none.chunks.is_empty() && store.position_at(0).is_ok());
    for of in 1..=5 {
        store.append(chunks(&[span(of, 1)])).expect("appends");
    }
    arrived(5);
    assert!(end.has_changed().expect("open"));
    let last = *end.borrow_and_update();
    let (mut found, mut position) = (Vec::new(), Position::default());
    let mut behind = store.bytes_behind(position);
    while position < last {
        let arrivals = store.read_arrivals(position, limits).expect("reads");
        assert!(arrivals.chunks.len() <= 1, "a chunk is more than a byte");
        for arrival in arrivals.chunks {
            let trace_id = arrival.trace_id.expect("of a trace");
            assert_eq!(store.chunks_of(trace_id).expect("reads"), [(arrival.at, arrival.kind)]);
            assert_eq!(store.chunk_at(arrival.at).expect("reads"), Some(arrival.message));
            found.push(trace_id.bytes()[0]);
        }
        assert!(arrivals.next > position);
        position = arrivals.next;
        assert!(store.bytes_behind(position) <= behind);
        behind = store.bytes_behind(position);
    }
    assert_eq!((found, behind), (vec![1, 2, 3, 4, 5], 0));
    store.append(chunks(&[span(6, 1)])).expect("appends");
    arrived(6);
    let more = store.read_arrivals(position, limits).expect("reads");
    assert_eq!(more.chunks.first().and_then(|arrival| arrival.trace_id), Some(trace(6)));
    assert_eq!(store.position_at(u64::MAX).expect("reads"), *end.borrow());
    assert!(store.position_at(0).expect("reads") < position);
}

pub(crate) fn traces_are_found_by_the_first_digits_of_their_ids(store: &Opened) {
    store
        .append(chunks(&[span(0x10, 1), span(0x11, 1), span(0x1f, 1), span(0x20, 1), span(0xff, 1)]))
        .expect("appends");
    store.append(chunks(&[span(0x11, 2)])).expect("appends");
    let with = |digits: &str| {
        let filter = Filter {
            id: IdPrefix::parse(digits),
            order: Order::OldestFirst,
            ..Filter::default()
        };
        let mut found = traces_of(store, filter);
        found.sort_unstable();
        found
    };
    assert_eq!(with("1"), [0x10, 0x11, 0x1f]);
    assert_eq!(with("111111"), [0x11]);
    assert_eq!((with("ff"), with("FFFF")), (vec![0xff], vec![0xff]));
    assert_eq!((with("12"), with("")), (vec![], vec![0x10, 0x11, 0x1f, 0x20, 0xff]));
    assert_eq!(with(&trace(0x20).to_string()), [0x20]);
    assert!(IdPrefix::parse("1x").is_none() && IdPrefix::parse(&"1".repeat(33)).is_none());
}

pub(crate) fn each_chunk_of_a_trace_is_found_by_what_it_has(store: &Opened) {
    store.append(chunks(&[span(1, 1), span(1, 2)])).expect("appends");
    store.append(chunks(&[span(1, 3)])).expect("appends");
    let mut own = record("session 1", 1_300);
    own.trace_id = Some(trace(1));
    store.append(chunks_of_records(&[own])).expect("appends");
    let stored = store.read_trace(trace(1)).expect("reads").expect("a trace");
    // Some engines tell of chunks once they have reached another place.
    let begin = Instant::now();
    let places = loop {
        let places = store.chunks_of(trace(1)).expect("reads");
        if places.len() >= 3 || begin.elapsed() > Duration::from_secs(20) {
            break places;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(stored.ends.len(), places.len());
    let mut began = (0, 0);
    for ((spans, logs), (at, kind)) in stored.ends.into_iter().zip(places) {
        let message = store.chunk_at(at).expect("reads").expect("a chunk");
        if kind == ChunkKind::Spans {
            assert_eq!(
                decode::traces(&message).expect("spans").items,
                stored.spans.get(began.0..spans).expect("spans")
            );
        } else {
            assert_eq!(
                decode::logs(&message).expect("records").items,
                stored.logs.get(began.1..logs).expect("records")
            );
        }
        began = (spans, logs);
    }
    assert_eq!(began, (3, 1));
}

pub(crate) fn what_is_computed_is_kept_for_its_revision(store: &Opened) {
    store.append(chunks(&[span(1, 1)])).expect("appends");
    let revision = store.revision(trace(1)).expect("reads");
    store.put_summary(trace(1), revision, "said").expect("keeps");
    assert_eq!(store.summary(trace(1), revision).expect("reads").as_deref(), Some("said"));
    assert_eq!(store.summary(trace(1), revision + 1).expect("reads"), None);
    assert_eq!(store.summary(trace(2), revision).expect("reads"), None);
}

pub(crate) fn reading_is_given_up_when_asked_to(store: &Opened) {
    store.append(chunks(&[span(1, 1)])).expect("appends");
    store.append(chunks(&[span(1, 2)])).expect("appends");
    let mut asked = 0;
    let read = store.read_trace_while(trace(1), &mut |_, message| {
        asked += 1;
        assert!(!message.is_empty());
        if asked == 2 { Err(Error::Cancelled) } else { Ok(()) }
    });
    assert!(matches!(read, Err(Error::Cancelled)));
    assert!(matches!(
        store.each_chunk(trace(1), &mut |_, _| Err(Error::Cancelled)),
        Err(Error::Cancelled)
    ));
}

/// Deletes, and gives what is to be removed beside the store.
fn delete(store: &Opened, what: &Unwanted) -> (Deleted, Vec<u8>) {
    let mut beside = Vec::new();
    let deleted = store.delete(what, &mut |traces| {
        beside.extend(traces.iter().map(|id| id.bytes()[0]));
        Ok(())
    });
    beside.sort_unstable();
    (deleted.expect("deletes"), beside)
}

/// The traces of all arrivals.
fn arrivals_of(store: &Opened) -> Vec<u8> {
    let limits = ArrivalLimits {
        bytes: usize::MAX,
        latest: u64::MAX,
    };
    let (mut found, mut position) = (Vec::new(), Position::default());
    loop {
        let arrivals = store.read_arrivals(position, limits).expect("reads");
        assert_eq!((arrivals.damaged_bytes, arrivals.removed_segments), (0, 0));
        found.extend(arrivals.chunks.iter().filter_map(|chunk| chunk.trace_id).map(|id| id.bytes()[0]));
        if arrivals.next <= position {
            return found;
        }
        position = arrivals.next;
    }
}

pub(crate) fn a_deleted_trace_is_gone_and_stays_gone(store: &Opened) {
    let others = [span(2, 1), span(3, 1), span(3, 2)];
    store.append(chunks(&[span(1, 1), span(2, 1), span(3, 1)])).expect("appends");
    store.append(chunks(&[span(1, 2), span(3, 2)])).expect("appends");
    let mut own = record("session 1", 1_300);
    own.trace_id = Some(trace(1));
    store.append(chunks_of_records(&[own])).expect("appends");
    let revision = store.revision(trace(1)).expect("reads");
    store.put_summary(trace(1), revision, "said").expect("keeps");
    let places = store.chunks_of(trace(1)).expect("reads");
    let row = store.row(trace(1)).expect("reads").expect("a row");
    let what = Unwanted::Trace(trace(1));
    let counted = store.to_delete(&what).expect("counts");
    assert_eq!((counted.spans, counted.log_records, counted.bytes), (2, 1, row.bytes));
    assert_eq!(store.deleted(&what).expect("reads"), None);
    assert_eq!(spans_of(store, 1).len(), 2, "counting deletes nothing");

    let (deleted, beside) = delete(store, &what);
    assert_eq!((deleted, beside), (counted, vec![1]));
    assert!(store.read_trace(trace(1)).expect("reads").is_none());
    assert_eq!(
        (store.row(trace(1)).expect("reads"), store.revision(trace(1)).expect("reads")),
        (None, 0)
    );
    assert_eq!(store.read_logs(trace(1)).expect("reads"), []);
    assert_eq!(store.summary(trace(1), revision).expect("reads"), None);
    assert_eq!(store.chunks_of(trace(1)).expect("reads"), []);
    for (at, _) in places {
        assert_eq!(store.chunk_at(at).expect("reads"), None);
    }
    assert_eq!(traces_of(store, Filter::default()), [3, 2]);
    assert_eq!(arrivals_of(store), [2, 3, 3]);
    assert_eq!([spans_of(store, 2), spans_of(store, 3)].concat(), others);

    // What comes later is told, and not stored; a retry of what was stored, too.
    let late = store.append(chunks(&[span(1, 1), span(1, 3), span(2, 2)])).expect("answers");
    assert_eq!(
        late,
        Receipt {
            stored: 1,
            duplicates: 0,
            deleted: 2
        }
    );
    let refused = append_at(store, 0, &[span(1, 4)]);
    assert!(
        matches!(refused, Err(Error::Deleted { trace_id }) if trace_id == trace(1)),
        "{refused:?}"
    );
    assert!(spans_of(store, 1).is_empty() && store.ready().is_ok());
    let before = |what| store.deleted(&what).expect("reads").map(|before| before.traces);
    assert_eq!(before(what.clone()), Some(1));
    assert_eq!(before(Unwanted::Trace(trace(2))), None);
    assert_eq!(before(Unwanted::Session("session 1".to_owned())), Some(1));
    assert_eq!(before(Unwanted::Session("session 0".to_owned())), None);
    assert!(delete(store, &what).0.is_empty() && delete(store, &Unwanted::Trace(trace(9))).0.is_empty());
    assert_eq!(before(Unwanted::Trace(trace(9))), None);
}

pub(crate) fn a_deleted_session_takes_its_traces_and_log_records_and_no_other(store: &Opened) {
    store.append(chunks(&[span(1, 1), span(2, 1), span(3, 1)])).expect("appends");
    let loose = |time| store.append(chunks_of_records(&[record("session 1", time), record("session 0", 2_002)]));
    loose(1_200).expect("appends");
    let session = Unwanted::Session("session 1".to_owned());
    let (deleted, mut beside) = delete(store, &session);
    beside.sort_unstable();
    assert_eq!(
        (deleted.traces.len(), deleted.spans, deleted.log_records, beside),
        (2, 2, 1, vec![1, 3])
    );
    assert_eq!((traces_of(store, Filter::default()), arrivals_of(store)), (vec![2], vec![2]));
    let left = store.read_trace(trace(2)).expect("reads").expect("a trace");
    assert_eq!((left.spans, left.logs), (vec![span(2, 1)], vec![record("session 0", 2_002)]));
    assert_eq!(store.deleted(&session).expect("reads").map(|before| before.traces), Some(2));
    // A trace of the session that comes later is another one.
    let receipt = store.append(chunks(&[span(3, 2), span(5, 1)])).expect("appends");
    assert_eq!((receipt.stored, receipt.deleted), (1, 1));
    assert_eq!(store.read_trace(trace(5)).expect("reads").expect("a trace").logs, []);
    assert_eq!(store.sessions(10, None).expect("lists").len(), 2);
    assert!(delete(store, &Unwanted::Session("none".to_owned())).0.is_empty());
}

pub(crate) fn a_closed_store_takes_nothing(store: &Opened) {
    store.append(chunks(&[span(1, 1)])).expect("appends");
    store.close();
    assert!(matches!(store.append(chunks(&[span(1, 2)])), Err(Error::Closed)));
    assert!(matches!(append_at(store, 1, &[span(1, 2)]), Err(Error::Closed)));
    assert_eq!(spans_of(store, 1).len(), 1);
}
