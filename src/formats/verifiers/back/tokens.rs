//! Token ids of model calls: a node only stores those it adds to its predecessors'.

use serde_json::Value;

use crate::operation::Training;

/// How many prompt token ids may be written per token id of a trace: each call repeats those of all calls before it.
const MAX_PROMPT_EXPANSION: usize = 64;

/// The tokens on the path to a node.
#[derive(Debug, Clone, Default)]
struct TokenPath {
    parent: Option<usize>,
    own: Vec<i64>,
    /// Number of tokens on the path, including its own.
    count: usize,
}

/// The tokens of a trace, by node.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    ways: Vec<TokenPath>,
    written: usize,
    /// Number of model calls written without their prompt's tokens.
    pub(super) unwritten: usize,
}

impl Tokens {
    /// Adds the next node, and reads the prompt and completion tokens of its model call.
    pub(super) fn add(&mut self, node: &Value, parent: Option<usize>, training: &mut Training) {
        let list = |key: &str| node.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let own: Vec<i64> = list("token_ids").iter().filter_map(Value::as_i64).collect();
        let before = parent.and_then(|parent| self.ways.get(parent)).map_or(0, |way| way.count);
        let said: Vec<bool> = list("mask").iter().map(|sampled| *sampled == Value::Bool(true)).collect();
        let first = said.iter().position(|sampled| *sampled);
        if let Some(first) = first.filter(|_| said.len() == own.len()) {
            let (added, completion) = own.split_at(first);
            training.completion_token_ids = Some(completion.into());
            let probabilities = list("logprobs");
            if !probabilities.is_empty() {
                training.logprobs = Some(probabilities.to_vec().into());
            }
            let prompt = before + added.len();
            if self.written + prompt <= MAX_PROMPT_EXPANSION.saturating_mul(self.all() + own.len()).max(1 << 16) {
                self.written += prompt;
                let mut ids = self.up_to(parent, before);
                ids.extend_from_slice(added);
                training.prompt_token_ids = Some(ids.into());
            } else {
                self.unwritten += 1;
            }
        }
        self.ways.push(TokenPath {
            parent,
            count: before + own.len(),
            own,
        });
    }

    /// The approximate number of tokens in the trace.
    fn all(&self) -> usize {
        self.ways.last().map_or(0, |way| way.count)
    }

    fn up_to(&self, node: Option<usize>, count: usize) -> Vec<i64> {
        let way = std::iter::successors(node.and_then(|node| self.ways.get(node)), |way| self.ways.get(way.parent?));
        let lists: Vec<&[i64]> = way.map(|way| way.own.as_slice()).collect();
        let mut out = Vec::with_capacity(count);
        lists.iter().rev().for_each(|list| out.extend_from_slice(list));
        out
    }
}
