//! Two sets of runs, paired by a value that both have: the runs of two versions of an agent, by question.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::whole::{Numbers, Whole};
use crate::hash::Keyed;
use crate::run::Run;
use crate::transcript::content as io;

/// By what the runs of two sets are paired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key {
    /// What was asked.
    Question,
    /// The session.
    Session,
    /// The person.
    User,
    /// Metadata of this name.
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
    /// The value of a run; `None`: it is not paired.
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
    /// By what they are paired.
    pub(crate) by: String,
    /// Sums and means of the first set.
    pub(crate) left: Sums,
    /// Those of the second.
    pub(crate) right: Sums,
    /// The pairs, and the runs of one set alone, in the order of the keys in the first set.
    pub(crate) pairs: Vec<RunPair>,
    /// How many runs lack the key.
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
    /// Whether both answered the same; `None` where one is missing or has no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) same_answer: Option<bool>,
}

/// A set as one.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Sums {
    /// How many runs.
    pub(crate) runs: u64,
    /// How many of them failed.
    pub(crate) failed: u64,
    /// Sums over all; the reward is the mean of those that have one.
    #[serde(flatten)]
    pub(crate) numbers: Numbers,
    #[serde(skip)]
    rewards: u64,
}

impl Sums {
    fn add(&mut self, whole: &Whole) {
        fn plus<T: Copy>(sum: &mut Option<T>, more: Option<T>, add: impl Fn(T, T) -> T) {
            *sum = match (*sum, more) {
                (Some(sum), Some(more)) => Some(add(sum, more)),
                (sum, more) => sum.or(more),
            };
        }
        self.runs += 1;
        self.failed += u64::from(whole.status == "error");
        let (sums, more) = (&mut self.numbers, &whole.numbers);
        sums.model_calls += more.model_calls;
        sums.tool_calls += more.tool_calls;
        sums.failures += more.failures;
        plus(&mut sums.took.input_tokens, more.took.input_tokens, u64::saturating_add);
        plus(&mut sums.took.output_tokens, more.took.output_tokens, u64::saturating_add);
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

/// A run of a set, without its steps: sets may be larger than memory.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    key: Option<String>,
    whole: Whole,
}

impl Member {
    /// What is compared of a run.
    pub(crate) fn of(run: &Run, by: &Key) -> Self {
        Self {
            key: by.of(run),
            whole: Whole::of(run),
        }
    }

    /// About how much memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        let texts = [&self.key, &self.whole.question, &self.whole.answer];
        size_of::<Self>() + texts.into_iter().flatten().map(String::len).sum::<usize>()
    }
}

/// Two sets side by side. Runs with one key are paired in order.
pub(crate) fn sets(by: &Key, left: Vec<Member>, right: Vec<Member>) -> SetComparison {
    let mut keys: Keyed<String, (Vec<Whole>, Vec<Whole>)> = Keyed::default();
    let (mut sums_left, mut sums_right) = (Sums::default(), Sums::default());
    let mut without_key = 0;
    for (is_left, member) in left
        .into_iter()
        .map(|one| (true, one))
        .chain(right.into_iter().map(|other| (false, other)))
    {
        if is_left { &mut sums_left } else { &mut sums_right }.add(&member.whole);
        let Some(key) = member.key else {
            without_key += 1;
            continue;
        };
        let of = keys.get_or_insert_with(&key, Default::default);
        if is_left { &mut of.0 } else { &mut of.1 }.push(member.whole);
    }
    let mut pairs = Vec::new();
    for (key, (ones, others)) in keys.into_list() {
        let most = ones.len().max(others.len());
        let (mut ones, mut others) = (ones.into_iter(), others.into_iter());
        for _ in 0..most {
            let (left, right) = (ones.next(), others.next());
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
    SetComparison {
        by: by.to_string(),
        left: sums_left.with_mean(),
        right: sums_right.with_mean(),
        pairs,
        without_key,
    }
}
