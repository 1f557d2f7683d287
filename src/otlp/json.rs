//! Converts OTLP/JSON to OTLP protobuf item by item: only one span or log record is decoded at a time.

use super::encode::{around_items, around_scopes, put_around, put_record, put_span};
use crate::span::json::{Items, JsonError, MessageOf, OfResource, mend};
use crate::span::{IdFault, ItemPath, LogRecord, Refused, RefusedReason, Signal, Span};

/// Maximum number of refused items listed; others are only counted.
const MAX_LISTED: usize = 100;

/// A message converted from JSON.
#[derive(Debug, Default)]
pub(crate) struct Transcoded {
    /// The protobuf message, without refused items.
    pub protobuf: Vec<u8>,
    /// The number of spans, log records or data points.
    pub items: usize,
    /// The first refused items.
    pub refused: Vec<Refused>,
    /// The number of refused items.
    pub refused_count: usize,
    /// Whether every item was refused because its ids are base64.
    pub refused_as_base64: bool,
    /// How many pieces of invalid text became the replacement character.
    pub replaced: usize,
}

/// The items of a scope, encoded as its fields.
#[derive(Debug, Default)]
struct Encoded {
    fields: Vec<u8>,
    items: usize,
    refused: Vec<(usize, RefusedReason)>,
    refused_count: usize,
    /// Whether any item was refused for a reason other than base64.
    otherwise: bool,
}

impl Encoded {
    fn refuse(&mut self, reason: RefusedReason) {
        self.otherwise |= reason.fault() != Some(IdFault::Base64);
        self.refused_count += 1;
        if self.refused.len() < MAX_LISTED {
            self.refused.push((self.items, reason));
        }
    }
}

impl Items for Encoded {
    fn span(&mut self, span: Result<Span, RefusedReason>) {
        match span {
            Ok(span) => put_span(2, &span, &mut self.fields),
            Err(reason) => self.refuse(reason),
        }
        self.items += 1;
    }

    fn record(&mut self, record: Result<LogRecord, RefusedReason>) {
        match record {
            Ok(record) => put_record(2, &record, &mut self.fields),
            Err(reason) => self.refuse(reason),
        }
        self.items += 1;
    }
}

/// Reads a message of this signal. For metrics, only the data points are counted.
///
/// # Errors
///
/// The text is not JSON, or carries another signal.
pub(crate) fn transcode(text: &[u8], signal: Signal) -> Result<Transcoded, JsonError> {
    let fault = match MessageOf::<Encoded>::parse(text) {
        Ok(message) => return transcoded(message, signal),
        Err(fault) => fault,
    };
    // Single items may be at fault.
    let Some(mended) = mend(text) else { return Err(fault) };
    let message = MessageOf::<Encoded>::parse(&mended.text).map_err(|_| fault)?;
    Ok(Transcoded {
        replaced: mended.replaced,
        ..transcoded(message, signal)?
    })
}

fn transcoded(message: MessageOf<Encoded>, signal: Signal) -> Result<Transcoded, JsonError> {
    message.expect(signal)?;
    Ok(match signal {
        Signal::Traces => put_together(message.into_spans(), signal),
        Signal::Logs => put_together(message.into_records(), signal),
        Signal::Metrics => Transcoded {
            items: message.metric_points(),
            ..Transcoded::default()
        },
    })
}

fn put_together(resources: impl Iterator<Item = OfResource<Encoded>>, signal: Signal) -> Transcoded {
    let mut whole = Transcoded {
        refused_as_base64: true,
        ..Transcoded::default()
    };
    for (resource, (around, scopes)) in resources.enumerate() {
        let mut fields = Vec::new();
        for (scope, (around, encoded)) in scopes.into_iter().enumerate() {
            whole.items += encoded.items;
            whole.refused_count += encoded.refused_count;
            whole.refused_as_base64 &= !encoded.otherwise;
            let left = MAX_LISTED.saturating_sub(whole.refused.len());
            whole
                .refused
                .extend(encoded.refused.into_iter().take(left).map(|(item, reason)| Refused {
                    path: ItemPath {
                        signal,
                        resource,
                        scope,
                        item,
                    },
                    reason,
                }));
            if !encoded.fields.is_empty() {
                put_around(2, around_items(&around), encoded.fields, &mut fields);
            }
        }
        if !fields.is_empty() {
            put_around(1, around_scopes(&around), fields, &mut whole.protobuf);
        }
    }
    whole
}
