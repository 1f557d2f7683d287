//! A step with its sort key.

use super::document::Step as Written;
use crate::span::UnixNanos;

/// The order of a step among those of one time: words before the call that they go into, the answer at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    Before,
    Itself,
    After,
}

pub(super) struct Draft<'a> {
    pub(super) at: UnixNanos,
    pub(super) place: (usize, Side),
    pub(super) step: Written<'a>,
}

impl<'a> Draft<'a> {
    pub(super) fn write(self) -> Written<'a> {
        Written {
            timestamp: self.at.rfc3339().into(),
            ..self.step
        }
    }
}
