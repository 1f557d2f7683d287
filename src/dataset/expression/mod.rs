//! Selects runs by an expression over their facts.
//!
//! ```text
//! expression = all ("or" all)*
//! all        = one ("and" one)*
//! one        = "not" one | "(" expression ")" | "has" "(" field ")" | field operator value
//! operator   = "=" | "!=" | "<" | "<=" | ">" | ">=" | "~"
//! value      = word | "text" | 'text'
//! ```
//!
//! For example `status = ok and (score.relevance >= 0.5 or tag = golden)`. A word ends at whitespace, a bracket, a quote or an
//! operator. In quotes, `\"`, `\'` and `\\` mean the character after the backslash. `and`, `or`, `not` and `has` may be written in
//! any case.
//!
//! | field | contents | operators |
//! |---|---|---|
//! | `status` | `ok`, `error`, `cancelled` or `running` | `=` `!=` |
//! | `agent`, `model`, `tool`, `tag` | the names of all agents, models and tools of the run; its tags | `=` `!=` `~` |
//! | `service`, `session`, `user`, `trace`, `framework` | one text | `=` `!=` `~` |
//! | `version` | the agent's version, else the service's | `=` `!=` `~` |
//! | `error` | why the run failed | `=` `!=` `~` |
//! | `question`, `answer` | the first question and the last answer | `=` `!=` `~` |
//! | `annotator` | who judged the run or a step of it afterwards; empty if not named | `=` `!=` `~` |
//! | `label.NAME` | the labels of the judgements with this name | `=` `!=` `~` |
//! | `score.NAME` | the scores of the judgements with this name | all but `~` |
//! | `reward` | the run's own reward, else the sum of its steps' | all but `~` |
//! | `tokens.in`, `tokens.out`, `tokens.total` | tokens of all model calls | all but `~` |
//! | `cost` | US dollars | all but `~` |
//! | `model_calls`, `tool_calls`, `failures` | how many operations called a model, ran a tool, failed | all but `~` |
//! | `duration` | from start to end: `200ms`, `1.5s`, `2m`, `1h`; a bare number is seconds | all but `~` |
//! | `start` | when the run started: a time, a day, or how long ago | all but `~` |
//!
//! * `=` compares whole texts exactly. `~` matches a pattern, where `*` is any text, `?` is any character, and case does not matter.
//! * A field with several values satisfies a comparison if one of them does, and `!=` if none of them is equal.
//! * A comparison with a missing field is false: `reward < 1` and `reward != 1` both exclude a run without a reward. `not`
//!   inverts the result, so `not reward = 1` includes such a run. `has(reward)` tests whether a reward is recorded at all.

mod error;
mod field;
mod lexer;
mod parser;
mod quote;
mod tree;

pub use error::{ExpressionError, Fault};
pub(crate) use field::moment_text;
pub use field::{Field, NumberField, TextField};
pub(crate) use quote::quoted;
pub use tree::{Expression, Facts, Pattern, Relation, Sameness};
