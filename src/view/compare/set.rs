//! Compares two sets of runs, paired by a value: the runs of two versions of an agent, by question.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::Serialize;

use super::prompt::{Changes, Prompt, PromptChange};
use super::whole::{Numbers, Took, Whole};
use super::words::Effort;
use crate::hash::{HashSet, Keyed};
use crate::run::Run;
use crate::transcript::content as io;
use crate::view::totals::{add as plus, by_tool};

/// The value by which the runs of two sets are paired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key {
    /// The question.
    Question,
    /// The session.
    Session,
    /// The user.
    User,
    /// Metadata with this name.
    Metadata(String),
}

impl FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "question" => Ok(Self::Question),
            "session" => Ok(Self::Session),
            "user" => Ok(Self::User),
            _ => match text.split_once('.') {
                Some(("metadata", name)) if !name.is_empty() => Ok(Self::Metadata(name.to_owned())),
                _ => Err("expected question, session, user or metadata.NAME".to_owned()),
            },
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Question => f.write_str("question"),
            Self::Session => f.write_str("session"),
            Self::User => f.write_str("user"),
            Self::Metadata(name) => write!(f, "metadata.{name}"),
        }
    }
}

impl Key {
    /// The value of a run; `None`: the run is not paired.
    fn of(&self, run: &Run) -> Option<String> {
        match self {
            Self::Question => run.question.as_ref().map(|asked| io::text(&asked.content).trim().to_owned()),
            Self::Session => run.session_id.clone(),
            Self::User => run.user_id.clone(),
            Self::Metadata(name) => run.metadata.get(name).map(|value| io::text(value).into_owned()),
        }
    }
}

/// Two sets of runs.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SetComparison {
    /// The value they are paired by.
    pub(crate) by: String,
    /// Sums and means of the first set.
    pub(crate) left: Sums,
    /// Those of the second.
    pub(crate) right: Sums,
    /// Number of pairs in which only the run of the first set failed.
    pub(crate) failed_only_left: u64,
    /// Number of pairs in which only the run of the second set failed.
    pub(crate) failed_only_right: u64,
    /// Differences in the first model calls of paired runs, each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) prompts: Vec<PromptChange>,
    /// Tools that failed, starting with those that fail more often in the second set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tools: Vec<ToolPair>,
    /// The pairs: first those in which only the run of the second set failed, and runs without a partner; then in the order
    /// of the keys in the first set.
    pub(crate) pairs: Vec<RunPair>,
    /// Number of runs without the key.
    pub(crate) without_key: u64,
}

/// Runs with one key.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct RunPair {
    /// The key.
    pub(crate) key: String,
    /// The run of the first set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) left: Option<Whole>,
    /// The run of the second set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) right: Option<Whole>,
    /// Whether both have the same answer; `None` if one is missing or has no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) same_answer: Option<bool>,
}

impl RunPair {
    /// Whether the run of the second set failed and that of the first did not.
    pub(crate) fn failed_only_right(&self) -> bool {
        failed(self.right.as_ref()) && self.left.as_ref().is_some_and(|left| !failed(Some(left)))
    }
}

fn failed(run: Option<&Whole>) -> bool {
    run.is_some_and(|run| run.status == "error")
}

/// A tool in both sets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ToolPair {
    /// Its name.
    pub(crate) name: String,
    /// In the first set.
    pub(crate) left: Calls,
    /// In the second.
    pub(crate) right: Calls,
}

/// Calls of a tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Calls {
    /// How many.
    pub(crate) calls: u64,
    /// How many of them failed.
    pub(crate) failures: u64,
}

impl Calls {
    /// The share of failed calls.
    fn rate(&self) -> f64 {
        self.failures as f64 / self.calls.max(1) as f64
    }
}

/// Totals of a set.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Sums {
    /// Number of runs.
    pub(crate) runs: u64,
    /// Number of failed runs.
    pub(crate) failed: u64,
    /// Sums over all runs; the reward is the mean over runs that have one.
    #[serde(flatten)]
    pub(crate) numbers: Numbers,
    /// Medians over runs that record the value.
    pub(crate) median: Took,
    #[serde(skip)]
    rewards: u64,
}

impl Sums {
    fn add(&mut self, whole: &Whole) {
        self.runs += 1;
        self.failed += u64::from(failed(Some(whole)));
        let (sums, more) = (&mut self.numbers, &whole.numbers);
        sums.model_calls += more.model_calls;
        sums.tool_calls += more.tool_calls;
        sums.failures += more.failures;
        plus(&mut sums.took.input_tokens, more.took.input_tokens, u64::saturating_add);
        plus(&mut sums.took.output_tokens, more.took.output_tokens, u64::saturating_add);
        sums.took.cost_computed |= more.took.cost_computed;
        plus(&mut sums.took.cost_usd, more.took.cost_usd, |one, other| one + other);
        plus(&mut sums.took.duration_nanos, more.took.duration_nanos, u64::saturating_add);
        plus(&mut sums.reward, more.reward, |one, other| one + other);
        self.rewards += u64::from(more.reward.is_some());
    }

    fn with_mean(mut self) -> Self {
        self.numbers.reward = self.numbers.reward.map(|sum| sum / self.rewards.max(1) as f64);
        self
    }
}

/// A run of a set.
#[derive(Debug)]
struct Member {
    key: Option<String>,
    whole: Whole,
    prompt: Option<Arc<Prompt<'static>>>,
}

/// The compared facts of a set's runs, without their steps: sets may be larger than memory.
#[derive(Debug)]
pub(crate) struct Members {
    by: Key,
    list: Vec<Member>,
    /// Shared by the runs of one version.
    prompts: HashSet<Arc<Prompt<'static>>>,
    tools: BTreeMap<String, Calls>,
    bytes: usize,
}

impl Members {
    /// An empty set.
    pub(crate) fn new(by: &Key) -> Self {
        Self {
            by: by.clone(),
            list: Vec::new(),
            prompts: HashSet::default(),
            tools: BTreeMap::new(),
            bytes: 0,
        }
    }

    /// Adds the compared facts of a run.
    pub(crate) fn add(&mut self, run: &Run) {
        let prompt = Prompt::first_of(run).map(Arc::new);
        let prompt = prompt.map(|prompt| match self.prompts.get(&prompt) {
            Some(same) => Arc::clone(same),
            None => {
                self.bytes += prompt.bytes();
                self.prompts.insert(Arc::clone(&prompt));
                prompt
            }
        });
        for group in by_tool(run) {
            let calls = self.tools.entry(group.name.unwrap_or_default().to_owned()).or_default();
            calls.calls += group.totals.tool_calls;
            calls.failures += group.totals.failures;
        }
        let member = Member {
            key: self.by.of(run),
            whole: Whole::of(run),
            prompt,
        };
        let texts = [&member.key, &member.whole.question, &member.whole.answer];
        self.bytes += size_of::<Member>() + texts.into_iter().flatten().map(String::len).sum::<usize>();
        self.list.push(member);
    }

    /// Estimated memory use.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    fn sums(&self) -> Sums {
        let mut sums = Sums::default();
        self.list.iter().for_each(|member| sums.add(&member.whole));
        let middle = |of: fn(&Took) -> Option<f64>| {
            let mut values: Vec<f64> = self.list.iter().filter_map(|member| of(&member.whole.numbers.took)).collect();
            values.sort_by(f64::total_cmp);
            let (low, high) = (values.get(values.len().saturating_sub(1) / 2), values.get(values.len() / 2));
            low.zip(high).map(|(low, high)| f64::midpoint(*low, *high))
        };
        let count = |of: fn(&Took) -> Option<f64>| middle(of).map(|median| median.round() as u64);
        sums.median = Took {
            input_tokens: count(|took| took.input_tokens.map(|tokens| tokens as f64)),
            output_tokens: count(|took| took.output_tokens.map(|tokens| tokens as f64)),
            cost_usd: middle(|took| took.cost_usd),
            cost_computed: sums.numbers.took.cost_computed,
            duration_nanos: count(|took| took.duration_nanos.map(|nanos| nanos as f64)),
        };
        sums.with_mean()
    }
}

/// The tools of both sets that failed.
fn tools(left: &BTreeMap<String, Calls>, mut right: BTreeMap<String, Calls>) -> Vec<ToolPair> {
    let mut pairs: Vec<ToolPair> = Vec::new();
    for (name, calls) in left {
        let (name, left, right) = (name.clone(), *calls, right.remove(name).unwrap_or_default());
        pairs.push(ToolPair { name, left, right });
    }
    pairs.extend(right.into_iter().map(|(name, right)| ToolPair {
        name,
        left: Calls::default(),
        right,
    }));
    pairs.retain(|pair| pair.left.failures + pair.right.failures > 0);
    pairs.sort_by(|one, other| {
        let more = |pair: &ToolPair| pair.right.rate() - pair.left.rate();
        more(other).total_cmp(&more(one)).then(one.name.cmp(&other.name))
    });
    pairs
}

/// Compares two sets. Runs with equal keys are paired in order.
pub(crate) fn sets(left: Members, right: Members, effort: &mut Effort<'_>) -> SetComparison {
    let mut keys: Keyed<String, (Vec<Member>, Vec<Member>)> = Keyed::default();
    let (by, sums) = (left.by.to_string(), (left.sums(), right.sums()));
    let tools = tools(&left.tools, right.tools);
    let mut without_key = 0;
    let ones = left.list.into_iter().map(|one| (true, one));
    for (is_left, member) in ones.chain(right.list.into_iter().map(|other| (false, other))) {
        let Some(key) = &member.key else {
            without_key += 1;
            continue;
        };
        let of = keys.get_or_insert_with(key, Default::default);
        if is_left { &mut of.0 } else { &mut of.1 }.push(member);
    }
    let (mut pairs, mut changes) = (Vec::new(), Changes::default());
    for (key, (ones, others)) in keys.into_list() {
        let most = ones.len().max(others.len());
        let (mut ones, mut others) = (ones.into_iter(), others.into_iter());
        for _ in 0..most {
            let (left, right) = (ones.next(), others.next());
            let prompt = |member: &Option<Member>| member.as_ref().and_then(|member| member.prompt.clone());
            if let Some((one, other)) = prompt(&left).zip(prompt(&right)).filter(|(one, other)| one != other) {
                let _ = changes.between(&one, &other, effort);
            }
            let (left, right) = (left.map(|member| member.whole), right.map(|member| member.whole));
            let answer = |whole: &Option<Whole>| whole.as_ref().and_then(|whole| whole.answer.clone());
            let same_answer = answer(&left).zip(answer(&right)).map(|(one, other)| one.trim() == other.trim());
            pairs.push(RunPair {
                key: key.clone(),
                left,
                right,
                same_answer,
            });
        }
    }
    pairs.sort_by_key(|pair| !pair.failed_only_right());
    let failed_only_left = |pair: &&RunPair| failed(pair.left.as_ref()) && pair.right.is_some() && !failed(pair.right.as_ref());
    SetComparison {
        by,
        left: sums.0,
        right: sums.1,
        failed_only_left: pairs.iter().filter(failed_only_left).count() as u64,
        failed_only_right: pairs.iter().filter(|pair| pair.failed_only_right()).count() as u64,
        prompts: changes.found,
        tools,
        pairs,
        without_key,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_fails_more_often_comes_first() {
        let calls = |of: &[(&str, u64, u64)]| -> BTreeMap<String, Calls> {
            let calls = of.iter().map(|(name, calls, failures)| {
                let (calls, failures) = (*calls, *failures);
                ((*name).to_owned(), Calls { calls, failures })
            });
            calls.collect()
        };
        let found = tools(
            &calls(&[("better", 4, 2), ("fine", 9, 0), ("gone", 1, 1), ("worse", 100, 2)]),
            calls(&[("better", 4, 1), ("fine", 9, 0), ("new", 8, 1), ("worse", 10, 5)]),
        );
        let names: Vec<&str> = found.iter().map(|pair| pair.name.as_str()).collect();
        assert_eq!(names, ["worse", "new", "better", "gone"]);
        let new = found.get(1).map(|pair| (pair.left, pair.right.calls));
        assert_eq!(new, Some((Calls::default(), 8)));
    }
}
