//! Random programs make the same spans under the Layer as under `tracing_opentelemetry::layer()`.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use opentelemetry::trace::{
    Link, SpanContext, SpanId, SpanKind, Status, TraceContextExt as _, TraceFlags, TraceId, TraceState, TracerProvider as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::trace::{SamplingDecision, SamplingResult, SdkTracerProvider, ShouldSample, SpanData};
use tracing::span::EnteredSpan;
use tracing::{Dispatch, Span, Subscriber, dispatcher, info, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::layer::{Layer, SubscriberExt as _};
use tracing_subscriber::{Registry, filter};

use crate::layer_support::Kept;

/// Numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 11) % bound as u64).unwrap()
    }
}

/// Drops the spans that are named so.
#[derive(Debug, Clone)]
struct ByName;

impl ShouldSample for ByName {
    fn should_sample(&self, parent: Option<&Context>, _: TraceId, name: &str, _: &SpanKind, _: &[KeyValue], _: &[Link]) -> SamplingResult {
        let dropped = name == "dropped";
        SamplingResult {
            decision: if dropped {
                SamplingDecision::Drop
            } else {
                SamplingDecision::RecordAndSample
            },
            attributes: Vec::new(),
            trace_state: parent.map_or_else(TraceState::default, |parent| parent.span().span_context().trace_state().clone()),
        }
    }
}

/// Sees all spans: those that a filter hides from the other layer are there in every run, whatever other subscribers want.
struct Everything;

impl<S: Subscriber> Layer<S> for Everything {}

fn remote(number: usize) -> Context {
    let number = u8::try_from(number + 1).unwrap();
    let (trace, span) = (TraceId::from_bytes([number; 16]), SpanId::from_bytes([number; 8]));
    Context::new().with_remote_span_context(SpanContext::new(trace, span, TraceFlags::SAMPLED, true, TraceState::default()))
}

/// What a part of a program knows, on whatever thread its next step is.
struct State {
    numbers: Numbers,
    next: usize,
    /// Each with whether other parts use it too: then nothing is done that depends on the order.
    spans: Vec<(Span, bool)>,
    contexts: Vec<Context>,
    seen: Vec<(&'static str, SpanId)>,
    results: String,
}

fn opened(kind: usize, number: usize, parent: Option<Option<tracing::Id>>) -> Span {
    macro_rules! open {
        ($name:literal $($rest:tt)*) => {
            match parent {
                Some(parent) => info_span!(parent: parent, $name, number $($rest)*),
                None => info_span!($name, number $($rest)*),
            }
        };
    }
    match kind {
        0 => open!("hidden"),
        1 => open!("dropped"),
        2 => open!("named", otel.name = "other", otel.kind = "server", later = tracing::field::Empty),
        3 => open!("late", otel.name = tracing::field::Empty, otel.kind = tracing::field::Empty),
        4 => open!("failed", otel.status_code = "error"),
        _ => open!("plain", later = tracing::field::Empty),
    }
}

impl State {
    fn new(seed: u64, first: usize, shared: &[Span]) -> Self {
        Self {
            numbers: Numbers(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
            next: first,
            spans: shared.iter().map(|span| (span.clone(), true)).collect(),
            contexts: Vec::new(),
            seen: Vec::new(),
            results: String::new(),
        }
    }

    fn open(&mut self, parent: Option<Option<tracing::Id>>) {
        self.next += 1;
        let kind = self.numbers.below(12);
        self.spans.push((opened(kind, self.next, parent), false));
    }

    fn some(&mut self) -> Option<(Span, bool)> {
        if self.spans.is_empty() {
            return None;
        }
        let place = self.numbers.below(self.spans.len());
        self.spans.get(place).cloned()
    }

    fn see(&mut self, what: &'static str, context: &Context) {
        self.seen.push((what, context.span().span_context().span_id()));
    }

    fn step(&mut self, entered: &mut Vec<EnteredSpan>) {
        let choice = self.numbers.below(28);
        match choice {
            0..4 => return self.open(None),
            4 => return self.open(Some(None)),
            5 if !entered.is_empty() => {
                let place = self.numbers.below(entered.len());
                drop(entered.remove(place));
                return;
            }
            6..9 => return drop(entered.pop()),
            9 => return info!("said"),
            10 => return self.see("current", &Context::current()),
            11 => return self.see("current span", &Span::current().context()),
            12 if !self.contexts.is_empty() => {
                let place = self.numbers.below(self.contexts.len());
                let context = self.contexts.swap_remove(place);
                context.span().set_attribute(KeyValue::new("late", true));
                let _current = context.attach();
                return self.open(None);
            }
            _ => {}
        }
        let Some((span, shared)) = self.some() else { return };
        match choice {
            13..17 => entered.push(span.entered()),
            17 => self.open(Some(span.id())),
            18 if !shared => {
                span.record("later", self.next);
                span.record("otel.kind", "client");
            }
            19 if !shared => {
                let parent = match self.numbers.below(3) {
                    0 => self.contexts.pop().unwrap_or_default(),
                    number => remote(number),
                };
                let _ = write!(self.results, "{} ", span.set_parent(parent).is_ok());
            }
            20 if !shared => span.add_link(remote(3).span().span_context().clone()),
            21 | 22 if !shared => {
                if let Some((other, _)) = self.some().filter(|(other, _)| other.id() != span.id()) {
                    span.follows_from(&other);
                }
            }
            23 => {
                let context = span.context();
                self.see("asked", &context);
                self.contexts.push(context);
            }
            24 => span.set_attribute("set", 1),
            25 => span.add_event("happened", Vec::new()),
            26 if !shared => span.set_status(Status::error("bad")),
            _ if !shared => {
                let place = self.spans.iter().position(|(other, _)| other.id() == span.id()).unwrap();
                self.spans.swap_remove(place);
            }
            _ => {}
        }
    }
}

/// One program on several threads, which take turns.
fn in_turns(dispatch: &Dispatch, seed: u64, steps: usize) -> Vec<State> {
    let state = Arc::new(Mutex::new(State::new(seed, 0, &[])));
    std::thread::scope(|scope| {
        let workers: Vec<(Sender<()>, Receiver<()>)> = (0..3)
            .map(|_| {
                let (to, orders) = channel::<()>();
                let (done, from) = channel();
                let state = Arc::clone(&state);
                scope.spawn(move || {
                    dispatcher::with_default(dispatch, || {
                        let mut entered = Vec::new();
                        for () in orders {
                            state.lock().unwrap().step(&mut entered);
                            done.send(()).unwrap();
                        }
                        while entered.pop().is_some() {}
                        assert!(!Context::current().has_active_span());
                    });
                });
                (to, from)
            })
            .collect();
        for _ in 0..steps {
            let place = state.lock().unwrap().numbers.below(workers.len());
            let (to, from) = workers.get(place).unwrap();
            to.send(()).unwrap();
            from.recv().unwrap();
        }
        // One after the other, so that they leave their spans in the same order.
        for (to, from) in workers {
            drop(to);
            assert!(from.recv().is_err());
        }
    });
    let Ok(state) = Arc::try_unwrap(state) else {
        panic!("a thread lives")
    };
    vec![state.into_inner().unwrap()]
}

/// Programs on threads that run at one time, with some spans in common.
fn at_once(dispatch: &Dispatch, seed: u64, steps: usize) -> Vec<State> {
    let shared: Vec<Span> = dispatcher::with_default(dispatch, || (1..4).map(|number| opened(9, number, None)).collect());
    std::thread::scope(|scope| {
        let threads: Vec<_> = (1..4)
            .map(|thread: u64| {
                let mut state = State::new(seed * 7 + thread, usize::try_from(thread).unwrap() * 100_000, &shared);
                scope.spawn(move || {
                    dispatcher::with_default(dispatch, || {
                        let mut entered = Vec::new();
                        for _ in 0..steps {
                            state.step(&mut entered);
                        }
                        while entered.pop().is_some() {}
                    });
                    state
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// What both layers have to agree on.
fn described(spans: &[SpanData], states: &[State]) -> Vec<String> {
    let number = |span: &SpanData| {
        let mut numbers = span.attributes.iter().filter(|pair| pair.key.as_str() == "number");
        numbers.next().map(|pair| pair.value.to_string()).unwrap()
    };
    let mut numbers: HashMap<SpanId, String> = spans.iter().map(|span| (span.span_context.span_id(), number(span))).collect();
    assert_eq!(numbers.len(), spans.len());
    numbers.insert(SpanId::INVALID, "none".to_owned());
    for place in 0..4 {
        numbers.insert(remote(place).span().span_context().span_id(), format!("remote {place}"));
    }
    let of = |id: SpanId| numbers.get(&id).map_or("dropped", |number| number);
    let mut lines: Vec<String> = spans
        .iter()
        .map(|span| {
            assert!(span.start_time <= span.end_time, "{}", span.name);
            let links: Vec<&str> = span.links.iter().map(|link| of(link.span_context.span_id())).collect();
            let mut events: Vec<&str> = span.events.iter().map(|event| event.name.as_ref()).collect();
            events.sort_unstable();
            // The last value is what was recorded.
            let set: BTreeMap<&str, String> = span
                .attributes
                .iter()
                .map(|pair| (pair.key.as_str(), pair.value.to_string()))
                .collect();
            let failed = matches!(span.status, Status::Error { .. });
            format!(
                "{} {} {:?} in {} {} {links:?} {events:?} {set:?} {failed}",
                number(span),
                span.name,
                span.span_kind,
                of(span.parent_span_id),
                span.parent_span_is_remote,
            )
        })
        .collect();
    lines.sort();
    for state in states {
        let seen = state.seen.iter().map(|(what, id)| format!("{what}: {}", of(*id)));
        lines.extend(seen);
        lines.push(state.results.clone());
    }
    lines
}

fn outcome(run: fn(&Dispatch, u64, usize) -> Vec<State>, seed: u64, steps: usize, plain: bool) -> Vec<String> {
    let kept = Kept::default();
    let provider = SdkTracerProvider::builder()
        .with_simple_exporter(kept.clone())
        .with_sampler(ByName)
        .build();
    let (activation, filtered) = (seed.is_multiple_of(2), seed.is_multiple_of(3));
    let layer = if plain {
        tracing_opentelemetry::layer()
            .with_tracer(provider.tracer("test"))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_context_activation(activation)
            .boxed()
    } else {
        spanbridge::layer()
            .with_tracer(provider.tracer("test"))
            .with_context_activation(activation)
            .boxed()
    };
    let layer = if filtered {
        layer.with_filter(filter::filter_fn(|metadata| metadata.name() != "hidden")).boxed()
    } else {
        layer
    };
    let dispatch = Dispatch::new(Registry::default().with(layer).with(Everything));
    let mut states = run(&dispatch, seed, steps);
    // In the subscriber, where the parents of spans close.
    dispatcher::with_default(&dispatch, || states.iter_mut().for_each(|state| state.spans.clear()));
    described(&kept.spans(), &states)
}

fn agree(run: fn(&Dispatch, u64, usize) -> Vec<State>, seeds: std::ops::Range<u64>, steps: usize) {
    let mut spans = 0;
    for seed in seeds {
        let plain = outcome(run, seed, steps, true);
        let ours = outcome(run, seed, steps, false);
        spans += plain.len();
        let apart = plain.iter().zip(&ours).filter(|(plain, ours)| plain != ours);
        let apart: Vec<String> = apart.map(|(plain, ours)| format!("{plain}\nours: {ours}\n")).collect();
        assert!(apart.is_empty() && plain.len() == ours.len(), "seed {seed}:\n{}", apart.join("\n"));
    }
    assert!(spans > 1000);
}

#[test]
fn programs_on_threads_that_take_turns() {
    agree(in_turns, 1..61, 200);
}

#[test]
fn programs_on_threads_at_once() {
    agree(at_once, 1..31, 300);
}
