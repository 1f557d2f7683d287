//! State the Layer keeps for an open span.

use std::borrow::Cow;
use std::time::{Instant, SystemTime};

use opentelemetry::trace::{Link, SpanBuilder, SpanKind};
use opentelemetry::{Context, KeyValue};
use tracing::span::Id;

use super::flags::Flags;
use super::record::Record;

/// An open span.
#[derive(Debug)]
pub(super) struct Life {
    pub(super) record: Record,
    pub(super) stage: Stage,
    /// When it was last exited.
    pub(super) left: Option<SystemTime>,
    /// How long it was entered, if that is recorded.
    pub(super) busy: Option<Box<Busy>>,
    /// Its counterpart in tracing-opentelemetry.
    pub(super) shadow: Option<Id>,
}

/// State of the OpenTelemetry span. It is created as late as possible, so that its parent can still be set.
#[derive(Debug)]
pub(super) enum Stage {
    /// Not created yet.
    Waiting(PendingSpan),
    /// A thread is creating it.
    Beginning(Thread),
    /// Created, in this context.
    Begun(Context),
    /// tracing-opentelemetry is creating it.
    Shadow,
}

impl Stage {
    /// Marks the span as being created by this thread; returns the previous stage.
    pub(super) fn begin(&mut self) -> Self {
        std::mem::replace(self, Self::Beginning(Thread::current()))
    }

    /// Whether another thread is creating the span.
    pub(super) fn is_made_elsewhere(&self) -> bool {
        matches!(self, Self::Beginning(thread) if *thread != Thread::current())
    }
}

/// Identifies a thread while it lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Thread(usize);

impl Thread {
    pub(super) fn current() -> Self {
        thread_local! {
            static HERE: u8 = const { 0 };
        }
        Self(HERE.with(|here| std::ptr::from_ref(here).addr()))
    }
}

/// Data for an OpenTelemetry span that has not begun.
#[derive(Debug)]
pub(super) struct PendingSpan {
    pub(super) start: SystemTime,
    pub(super) parent: Context,
    pub(super) early: Option<Box<Early>>,
}

/// The attributes and links that samplers see.
#[derive(Debug, Default)]
pub(super) struct Early {
    pub(super) attributes: Vec<KeyValue>,
    pub(super) links: Vec<Link>,
}

impl PendingSpan {
    pub(super) fn new(parent: Context, early: Option<Box<Early>>) -> Self {
        let start = SystemTime::now();
        Self { start, parent, early }
    }

    /// The builder of the span, and its parent.
    pub(super) fn builder(self, record: &Named) -> (SpanBuilder, Context) {
        let mut builder = SpanBuilder::from_name(record.name.clone());
        builder.start_time = Some(self.start);
        builder.span_kind.clone_from(&record.kind);
        let mut attributes = Vec::with_capacity(record.attributes);
        if let Some(early) = self.early {
            attributes.extend(early.attributes);
            builder.links = Some(early.links);
        }
        builder.attributes = Some(attributes);
        (builder, self.parent)
    }
}

/// The parts of a record needed when a span begins.
pub(super) struct Named {
    pub(super) name: Cow<'static, str>,
    pub(super) kind: Option<SpanKind>,
    /// Expected number of attributes.
    attributes: usize,
}

impl Named {
    pub(super) fn of(record: &Record) -> Self {
        let plan = record.plan;
        let mut named = Self {
            name: plan.metadata.name().into(),
            kind: None,
            // A kind may produce two attributes.
            attributes: if record.values.is_empty() {
                0
            } else {
                plan.fields.len() + plan.kinds.len()
            },
        };
        for field in &plan.forwarded {
            let slot = plan.fields.get(field.index()).map(|plan| plan.slot);
            let Some(Some(value)) = slot.and_then(|slot| record.values.get(slot)) else {
                continue;
            };
            match field.name() {
                "otel.name" => named.name = value.as_str().into_owned().into(),
                _ => named.kind = kind(&value.as_str()).or(named.kind),
            }
        }
        named
    }
}

/// Parses an `otel.kind` value.
fn kind(word: &str) -> Option<SpanKind> {
    let kinds = [
        ("server", SpanKind::Server),
        ("client", SpanKind::Client),
        ("producer", SpanKind::Producer),
        ("consumer", SpanKind::Consumer),
        ("internal", SpanKind::Internal),
    ];
    kinds
        .into_iter()
        .find(|(name, _)| word.eq_ignore_ascii_case(name))
        .map(|(_, kind)| kind)
}

impl Early {
    /// The attributes a layer with these flags adds when a span opens.
    pub(super) fn of(flags: Flags, record: &Record) -> Option<Box<Self>> {
        if !(flags.location || flags.threads || flags.level || flags.target) {
            return None;
        }
        let metadata = record.plan.metadata;
        let mut attributes = Vec::new();
        if flags.location {
            attributes.extend(metadata.file().map(|file| KeyValue::new("code.file.path", file)));
            attributes.extend(metadata.module_path().map(|module| KeyValue::new("code.module.name", module)));
            attributes.extend(metadata.line().map(|line| KeyValue::new("code.line.number", i64::from(line))));
        }
        if flags.threads {
            let thread = std::thread::current();
            attributes.extend(thread_number(thread.id()).map(|number| KeyValue::new("thread.id", number)));
            attributes.extend(thread.name().map(|name| KeyValue::new("thread.name", name.to_owned())));
        }
        if flags.level {
            attributes.push(KeyValue::new("level", metadata.level().as_str()));
        }
        if flags.target {
            attributes.push(KeyValue::new("target", metadata.target()));
        }
        let links = Vec::new();
        Some(Box::new(Self { attributes, links }))
    }
}

/// The number of a thread, which the standard library only exposes through `Debug`.
fn thread_number(id: std::thread::ThreadId) -> Option<i64> {
    let form = format!("{id:?}");
    form.trim_start_matches(|c: char| !c.is_ascii_digit())
        .trim_end_matches(')')
        .parse()
        .ok()
}

/// How long a span was entered, and how long it was not.
#[derive(Debug, Clone)]
pub(super) struct Busy {
    entered: usize,
    changed: Instant,
    idle: i64,
    busy: i64,
}

impl Default for Busy {
    fn default() -> Self {
        Self {
            entered: 0,
            changed: Instant::now(),
            idle: 0,
            busy: 0,
        }
    }
}

impl Busy {
    fn lap(&mut self) -> i64 {
        let now = Instant::now();
        let passed = now.saturating_duration_since(std::mem::replace(&mut self.changed, now));
        i64::try_from(passed.as_nanos()).unwrap_or(i64::MAX)
    }

    pub(super) fn entered(&mut self) {
        if self.entered == 0 {
            self.idle = self.lap().saturating_add(self.idle);
        }
        self.entered = self.entered.saturating_add(1);
    }

    pub(super) fn left(&mut self) {
        self.entered = self.entered.saturating_sub(1);
        if self.entered == 0 {
            self.busy = self.lap().saturating_add(self.busy);
        }
    }

    pub(super) fn attributes(&self) -> [KeyValue; 2] {
        [KeyValue::new("busy_ns", self.busy), KeyValue::new("idle_ns", self.idle)]
    }
}
