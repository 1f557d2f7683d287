//! Selects the spans and log records of a destination.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use regex::Regex;
use serde::{Deserialize, Serialize};

use super::cost;
use super::error::ConfigError;
use super::memory::{MEMORY, share};
use crate::dialect::{self, Registry};
use crate::operation::Kind;
use crate::otlp::decode;
use crate::otlp::items::{self, Item};
use crate::redact::glob;
use crate::span::{Signal, TraceId};
use crate::store::{Error, Filter, Store, TraceRow};

/// `[forward.choose]`: what is sent. Each list selects; an empty list selects everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChooseText {
    /// Services: `service.name` of the resource, where `*` is any text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<String>,
    /// Sessions whose traces are sent, where `*` is any text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<String>,
    /// Kinds of operations: llm, tool, agent and so on. Log records and metrics have no kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
}

/// `[forward.sample]`: sends a share of the traces, each one whole.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleText {
    /// Share of the traces that are sent: 0 to 1.
    pub share: f64,
    /// Whether a trace with a failed span is always sent [default: true].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_failed: Option<bool>,
    /// A trace that takes longer than this is always sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_slower_than_seconds: Option<f64>,
}

/// What one destination is sent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Choice {
    services: Vec<Regex>,
    sessions: Vec<Regex>,
    kinds: Vec<Kind>,
    sample: Option<Sampler>,
}

#[derive(Debug, Clone)]
struct Sampler {
    /// Traces with at least this randomness are sent.
    threshold: u64,
    keep_failed: bool,
    keep_slower: Option<Duration>,
}

/// Number of values of a trace id's randomness: W3C Trace Context Level 2, "random-trace-id".
const RANDOM: u64 = 1 << 56;

impl Choice {
    /// Builds the choice from a configuration.
    ///
    /// # Errors
    ///
    /// A kind is unknown, a pattern is too large, or a number is out of range.
    pub(crate) fn new(choose: &ChooseText, sample: Option<&SampleText>) -> Result<Self, ConfigError> {
        let globs = |key: &'static str, list: &[String]| {
            let read = |text: &String| {
                glob(text).map_err(|_| ConfigError::Pattern {
                    key,
                    pattern: text.clone(),
                })
            };
            list.iter().map(read).collect::<Result<Vec<_>, _>>()
        };
        let kind = |name: &String| {
            Kind::from_name(name).ok_or_else(|| ConfigError::Kind {
                kind: name.clone(),
                known: Kind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", "),
            })
        };
        Ok(Self {
            services: globs("services", &choose.services)?,
            sessions: globs("sessions", &choose.sessions)?,
            kinds: choose.kinds.iter().map(kind).collect::<Result<_, _>>()?,
            sample: sample.map(Sampler::new).transpose()?,
        })
    }

    fn is_everything(&self) -> bool {
        self.services.is_empty() && self.sessions.is_empty() && self.kinds.is_empty() && self.sample.is_none()
    }
}

impl Sampler {
    fn new(text: &SampleText) -> Result<Self, ConfigError> {
        if !(0.0..=1.0).contains(&text.share) {
            return Err(ConfigError::Number {
                key: "share",
                expected: "a number from 0 to 1",
            });
        }
        let slower = text.keep_slower_than_seconds.map(|seconds| {
            Duration::try_from_secs_f64(seconds).map_err(|_| ConfigError::Number {
                key: "keep_slower_than_seconds",
                expected: "a number of seconds",
            })
        });
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "0 to 2^56"
        )]
        let threshold = ((1.0 - text.share) * RANDOM as f64) as u64;
        Ok(Self {
            threshold,
            keep_failed: text.keep_failed.unwrap_or(true),
            keep_slower: slower.transpose()?,
        })
    }

    /// Decides like OTel's consistent probability samplers: every destination with the same share gets the same traces.
    fn takes(&self, trace_id: TraceId) -> bool {
        let [.., a, b, c, d, e, f, g] = *trace_id.bytes();
        u64::from_be_bytes([0, a, b, c, d, e, f, g]) >= self.threshold
    }

    fn keeps(&self, trace: &TraceRow) -> bool {
        self.keep_failed && trace.errors > 0
            || self
                .keep_slower
                .is_some_and(|slower| u128::from(trace.end.saturating_sub(trace.start)) > slower.as_nanos())
    }
}

/// Whether a chunk is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TraceChoice {
    Left,
    Sent,
    /// Sent, and its trace is selected only now: the trace's earlier chunks must be sent, too.
    SentWithEarlier,
}

/// A choice applied to the chunks of a destination.
#[derive(Debug)]
pub(super) struct Chooser {
    choice: Choice,
    registry: Arc<Registry>,
    known: Mutex<SentTraces>,
}

/// The latest traces selected by their spans' content. A forgotten one is sent again from its beginning.
#[derive(Debug, Default)]
struct SentTraces {
    traces: HashSet<TraceId>,
    order: VecDeque<TraceId>,
    /// How many of the last traces in `order` belong to a batch that is not sent yet.
    unsent: usize,
}

/// Maximum number of remembered traces: a few MB for each destination.
const MAX_REMEMBERED: usize = 1 << 16;

impl SentTraces {
    fn add(&mut self, trace_id: TraceId) -> bool {
        let is_new = self.traces.insert(trace_id);
        if is_new {
            self.order.push_back(trace_id);
            self.unsent += 1;
        }
        if self.order.len() > MAX_REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            let _ = self.traces.remove(&oldest);
        }
        is_new
    }

    fn forget_unsent(&mut self) {
        for _ in 0..std::mem::take(&mut self.unsent) {
            if let Some(trace_id) = self.order.pop_back() {
                let _ = self.traces.remove(&trace_id);
            }
        }
    }
}

impl Chooser {
    /// `None`: everything is sent.
    pub(super) fn new(choice: &Choice, registry: &Arc<Registry>) -> Option<Self> {
        (!choice.is_everything()).then(|| Self {
            choice: choice.clone(),
            registry: Arc::clone(registry),
            known: Mutex::default(),
        })
    }

    /// Starts a batch. Traces selected in the previous batch are forgotten if it was not [sent](Chooser::sent): their
    /// earlier chunks must be sent with it when it is prepared again.
    pub(super) fn begin(&self) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).forget_unsent();
    }

    /// Records that the batch was sent.
    pub(super) fn sent(&self) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).unsent = 0;
    }

    /// Whether a chunk of this trace is sent, as far as the trace decides.
    pub(super) fn of_trace(&self, trace_id: Option<TraceId>, store: &dyn Store) -> Result<TraceChoice, Error> {
        let Choice { sessions, sample, .. } = &self.choice;
        let Some(trace_id) = trace_id else {
            // Without a trace there is no known session and no sampling.
            return Ok(if sessions.is_empty() {
                TraceChoice::Sent
            } else {
                TraceChoice::Left
            });
        };
        let taken = sample.as_ref().is_none_or(|sample| sample.takes(trace_id));
        if taken && sessions.is_empty() {
            return Ok(TraceChoice::Sent);
        }
        let filter = Filter {
            traces: vec![trace_id],
            limit: Some(1),
            ..Filter::default()
        };
        let Some(trace) = store.list(&filter)?.pop() else {
            return Ok(TraceChoice::Left);
        };
        let of_session = sessions.is_empty() || trace.session.as_deref().is_some_and(|session| matches(sessions, session));
        let kept = taken || sample.as_ref().is_some_and(|sample| sample.keeps(&trace));
        if !(of_session && kept) {
            return Ok(TraceChoice::Left);
        }
        let is_new = self.known.lock().unwrap_or_else(PoisonError::into_inner).add(trace_id);
        Ok(if is_new { TraceChoice::SentWithEarlier } else { TraceChoice::Sent })
    }

    /// Removes items of other services and kinds. A message that cannot be decoded is sent: the destination may be able to read it.
    pub(super) fn of_items(&self, message: Bytes, signal: Signal) -> Bytes {
        let Choice { services, kinds, .. } = &self.choice;
        if services.is_empty() && (kinds.is_empty() || signal != Signal::Traces) {
            return message;
        }
        let Ok(all) = items::items(&message) else { return message };
        let is_chosen = |item: &&Item| self.is_chosen(item, signal).unwrap_or(true);
        items::join(all.iter().filter(is_chosen)).into()
    }

    fn is_chosen(&self, item: &Item, signal: Signal) -> Option<bool> {
        let Choice { services, kinds, .. } = &self.choice;
        if !services.is_empty() && !matches(services, item.service().as_deref().unwrap_or_default()) {
            return Some(false);
        }
        if kinds.is_empty() || signal != Signal::Traces {
            return Some(true);
        }
        // An item that would take too much memory to decode is sent, too.
        let cost = cost::of_translating_item(item.bytes(), signal);
        let _reserved = Some(cost)
            .filter(|cost| *cost <= share(item.length()))
            .map(|cost| MEMORY.reserve(cost))?;
        let decoded = decode::traces(&items::join([item])).ok()?;
        Some(kinds.contains(&dialect::kind(&self.registry, decoded.items.first()?)))
    }
}

fn matches(patterns: &[Regex], text: &str) -> bool {
    patterns.iter().any(|pattern| pattern.is_match(text))
}
