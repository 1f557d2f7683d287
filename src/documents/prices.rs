//! The user's prices of models, for calls whose spans record tokens but no cost.
//!
//! ```yaml
//! # US dollars for a million tokens.
//! gpt-4o: { input: 2.5, cache_read: 1.25, output: 10 }
//! claude-sonnet-4*: { input: 3, cache_read: 0.3, cache_write: 3.75, output: 15 }
//! ```
//!
//! A name that ends with `*` matches all models with that prefix. A full name wins over a prefix, and a longer prefix over a shorter
//! one. Cached tokens without their own price cost the same as others.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::operation::{Kind, Operation};
use crate::run::{Run, Step};

/// Prices by model name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prices(BTreeMap<String, Price>);

/// US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Price {
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
}

impl Prices {
    /// Reads the text of a file, YAML or JSON.
    ///
    /// # Errors
    ///
    /// The text is not such a file, or a price is not an amount.
    #[cfg(feature = "server")]
    pub fn of_text(text: &str) -> Result<Self, String> {
        let prices: BTreeMap<String, Price> = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        for (model, price) in &prices {
            let all = [Some(price.input), Some(price.output), price.cache_read, price.cache_write];
            if !all.into_iter().flatten().all(|amount| amount.is_finite() && amount >= 0.0) {
                return Err(format!(
                    "a price of {model} is not 0 or more: write US dollars for a million tokens"
                ));
            }
        }
        Ok(Self(prices))
    }

    /// A hash that identifies these prices.
    #[cfg(feature = "server")]
    pub(crate) fn mark(&self) -> String {
        use sha2::{Digest as _, Sha256};
        let digest = Sha256::digest(format!("{self:?}").as_bytes());
        crate::span::ids::hex(digest.get(..8).unwrap_or_default())
    }

    /// Gives model calls their costs, unless a span of the run records a cost.
    pub(super) fn give(&self, run: &mut Run) {
        let has_cost = |step: &Step| step.operation.cost != crate::operation::Cost::default();
        if self.0.is_empty() || run.steps.iter().any(has_cost) {
            return;
        }
        for step in &mut run.steps {
            step.computed_cost = self.of_call(&step.operation);
        }
    }

    fn of_call(&self, call: &Operation) -> Option<f64> {
        if !matches!(call.kind, Kind::Llm | Kind::Embedding | Kind::Rerank) {
            return None;
        }
        let usage = &call.usage;
        let (input, output) = match (usage.input, usage.output) {
            (None, None) => return None,
            (input, output) => (input.unwrap_or_default(), output.unwrap_or_default()),
        };
        let names = [call.model.response.as_deref(), call.model.requested.as_deref()];
        let price = self.of_model(names.into_iter().flatten())?;
        let read = usage.cache_read.unwrap_or_default().min(input);
        let written = usage.cache_write.unwrap_or_default().min(input - read);
        let amounts = [
            (input - read - written, price.input),
            (read, price.cache_read.unwrap_or(price.input)),
            (written, price.cache_write.unwrap_or(price.input)),
            (output, price.output),
        ];
        Some(amounts.into_iter().map(|(tokens, price)| tokens as f64 * price).sum::<f64>() / 1e6)
    }

    /// The price for a full name, else for the longest prefix of one.
    fn of_model<'a>(&self, names: impl Iterator<Item = &'a str> + Clone) -> Option<&Price> {
        let begins = |pattern: &str, name: &str| pattern.strip_suffix('*').is_some_and(|begin| name.starts_with(begin));
        let by_beginning = |name: &str| {
            let patterns = self.0.iter().filter(|(pattern, _)| begins(pattern, name));
            patterns.max_by_key(|(pattern, _)| pattern.len()).map(|(_, price)| price)
        };
        names
            .clone()
            .find_map(|name| self.0.get(name))
            .or_else(|| names.clone().find_map(by_beginning))
    }
}

#[cfg(test)]
#[cfg(feature = "server")]
#[expect(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;
    use crate::operation::{Model, TokenCount};

    fn call(model: &str, input: u64, cache_read: Option<u64>, output: Option<u64>) -> Operation {
        Operation {
            kind: Kind::Llm,
            model: Model {
                response: Some(model.into()),
                ..Model::default()
            },
            usage: TokenCount {
                input: Some(input),
                output,
                cache_read,
                ..TokenCount::default()
            },
            ..Operation::default()
        }
    }

    #[test]
    fn tokens_cost_by_the_whole_name_else_by_the_longest_beginning() {
        let text = "gpt-4o: { input: 2.5, cache_read: 1.25, output: 10 }\ngpt-4o*: { input: 1, output: 1 }\n'*': { input: 0, output: 0 }\n";
        let prices = Prices::of_text(text).unwrap();
        let of = |call: Operation| prices.of_call(&call);
        assert_eq!(of(call("gpt-4o", 1_000_000, Some(400_000), Some(100_000))), Some(1.5 + 0.5 + 1.0));
        assert_eq!(of(call("gpt-4o-mini", 2_000_000, None, None)), Some(2.0));
        assert_eq!(of(call("other", 2_000_000, None, None)), Some(0.0));
        let tool = Operation {
            kind: Kind::Tool,
            ..call("gpt-4o", 1, None, None)
        };
        assert_eq!(of(tool), None);
        assert_ne!(prices.mark(), Prices::default().mark());
    }

    #[test]
    fn what_is_no_price_is_refused() {
        for text in [
            "gpt: { input: -1, output: 1 }",
            "gpt: { input: 1 }",
            "gpt: { input: 1, output: 1, per: 1 }",
            "[1]",
            "gpt: { input: .inf, output: 1 }",
        ] {
            assert!(Prices::of_text(text).is_err(), "{text}");
        }
    }
}
