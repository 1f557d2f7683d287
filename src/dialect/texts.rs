//! JSON texts that several rules read: each is parsed once.

use serde_json::Value;

use super::plan::{KindPlan, Look};

/// The JSON object or list in an attribute's text, once a rule has opened it.
#[derive(Debug, Clone)]
pub(super) struct Opened {
    pub(super) value: Option<Value>,
    /// Whether the text lacks its end.
    pub(super) is_cut: bool,
    /// How many rules may still ask for it.
    pub(super) askers: usize,
}

impl Opened {
    /// Whether the value is there, and nobody else asks for it.
    pub(super) fn is_left(&self) -> bool {
        self.value.is_some() && self.askers == 0
    }
}

/// The JSON texts of a span, in the order of their attributes.
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

    /// The text that a rule looks into, whose turn it is.
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
