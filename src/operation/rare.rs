//! What few operations say: it takes no room in the others.

use std::ops::{Deref, DerefMut};

use serde_json::Value;

/// Facts that are read like the facts themselves, and are kept only where something was written.
#[derive(Debug, Clone)]
pub struct Rare<T>(Option<Box<T>>);

/// Facts that most spans lack.
pub trait Sparse: Default + 'static {
    /// None of them.
    const EMPTY: &'static Self;
}

impl<T> Default for Rare<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Sparse> Deref for Rare<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::EMPTY)
    }
}

impl<T: Sparse> DerefMut for Rare<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}

/// As the facts are.
impl<T: Sparse + PartialEq> PartialEq for Rare<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T> From<T> for Rare<T> {
    fn from(facts: T) -> Self {
        Self(Some(Box::new(facts)))
    }
}

impl<T> Rare<T> {
    /// The facts, if any were written.
    #[must_use]
    pub fn into_inner(self) -> Option<T> {
        self.0.map(|facts| *facts)
    }
}

/// A memory operation's own facts (`spanbridge.memory.*`, `gen_ai.memory.*`).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Memory {
    /// For example `user`.
    pub entity_type: Option<String>,
    /// Which entity.
    pub entity_id: Option<String>,
    /// The store's name space.
    pub namespace: Option<Value>,
    /// The key in it.
    pub key: Option<String>,
    /// `add`, `update`, `delete` or `put`.
    pub operation: Option<String>,
    /// What was written.
    pub data: Option<Value>,
    /// Old and new values by path.
    pub changes: Option<Value>,
    /// What was looked for.
    pub query: Option<Value>,
    /// What was found.
    pub results: Option<Value>,
    /// How relevant each result is.
    pub scores: Option<Value>,
    /// How many records there are in all.
    pub total_available: Option<i64>,
}

/// A change of an agent's state (`spanbridge.state.*`); also what a handoff does to the active agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StateChange {
    /// Which value.
    pub key: Option<String>,
    /// Before.
    pub old_value: Option<Value>,
    /// After.
    pub new_value: Option<Value>,
    /// Why.
    pub reason: Option<String>,
}

/// A question to a person (`spanbridge.interrupt.*`).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Interrupt {
    /// What was asked.
    pub prompt: Option<String>,
    /// What the person said.
    pub response: Option<Value>,
    /// How long that took, in milliseconds.
    pub wait_ms: Option<u64>,
}

/// What training and replay tools ask for (`spanbridge.*`).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Training {
    /// Reward of this operation.
    pub reward: Option<f64>,
    /// Whether the episode ended here.
    pub terminated: Option<bool>,
    /// Whether the episode was cut here.
    pub truncated: Option<bool>,
    /// Token ids of the prompt.
    pub prompt_token_ids: Option<Value>,
    /// Token ids of the completion.
    pub completion_token_ids: Option<Value>,
    /// Log probabilities of the completion's tokens.
    pub logprobs: Option<Value>,
    /// Whether the prompt is a target of optimisation.
    pub optimize: Option<bool>,
    /// The reference output.
    pub ideal: Option<Value>,
    /// Index in a plan-act loop.
    pub step: Option<i64>,
}

/// What kind of content goes in and comes out (`spanbridge.input_type`, `spanbridge.format`).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContentType {
    /// `text`, `file` and the like.
    pub input: Option<String>,
    /// `text`, `json`, `markdown` and the like.
    pub output: Option<String>,
}

/// The prompt that an operation used or fetched.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prompt {
    /// Its name or id.
    pub id: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// Its text before variables were put in.
    pub template: Option<String>,
    /// The variables.
    pub variables: Option<Value>,
}

/// What a tool cost or used up (`spanbridge.resource_impact.*`).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResourceImpact {
    /// How much.
    pub amount: Option<f64>,
    /// Of what: `credits`, `USD`.
    pub unit: Option<String>,
    /// By part.
    pub breakdown: Option<Value>,
}

/// What the agent was to do (`spanbridge.task.*`).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Task {
    /// In words.
    pub description: Option<String>,
    /// What counts as success.
    pub goal: Option<String>,
    /// Structured input.
    pub input: Option<Value>,
}

impl Sparse for Training {
    const EMPTY: &'static Self = &Self {
        reward: None,
        terminated: None,
        truncated: None,
        prompt_token_ids: None,
        completion_token_ids: None,
        logprobs: None,
        optimize: None,
        ideal: None,
        step: None,
    };
}

impl Sparse for ContentType {
    const EMPTY: &'static Self = &Self { input: None, output: None };
}

impl Sparse for Prompt {
    const EMPTY: &'static Self = &Self {
        id: None,
        version: None,
        template: None,
        variables: None,
    };
}

impl Sparse for Task {
    const EMPTY: &'static Self = &Self {
        description: None,
        goal: None,
        input: None,
    };
}
