//! JSON texts read by several rules, each parsed only once.

use serde_json::Value;

use super::plan::{KindPlan, Look};

/// The JSON object or list in an attribute's text, once a rule has parsed it.
#[derive(Debug, Clone)]
pub(super) struct Opened {
    pub(super) value: Option<Value>,
    /// Whether the text is truncated.
    pub(super) is_cut: bool,
    /// Number of rules that may still need it.
    pub(super) askers: usize,
}

impl Opened {
    /// Whether the value is available and no other rule needs it.
    pub(super) fn is_left(&self) -> bool {
        self.value.is_some() && self.askers == 0
    }
}

/// The JSON texts of a span, in attribute order.
pub(super) struct Texts(Vec<(usize, Opened)>);

impl Texts {
    pub(super) fn of(plan: &KindPlan) -> Self {
        let texts = plan.texts.iter().map(|text| {
            let opened = Opened {
                value: None,
                is_cut: false,
                askers: text.askers,
            };
            (text.place, opened)
        });
        Self(texts.collect())
    }

    /// The text that the rule whose turn it is looks into.
    pub(super) fn of_look(&mut self, look: &Look) -> Option<&mut Opened> {
        let at = look.text?;
        let found = self.0.binary_search_by_key(&at, |(place, _)| *place).ok()?;
        let (_, opened) = self.0.get_mut(found)?;
        if look.opens_json {
            opened.askers = opened.askers.saturating_sub(1);
        }
        Some(opened)
    }
}
