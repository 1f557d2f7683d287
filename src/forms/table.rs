//! A form's table, as it is written, and what is checked when it is read.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::source::{Conditions, Path, Source};
use super::unknown::unknown;

/// A form.
#[derive(Debug)]
pub(crate) struct Form {
    /// Its name: that of its file.
    pub(crate) name: String,
    pub(super) table: Table,
}

/// Why a table cannot be used.
#[derive(Debug)]
pub(crate) struct FormError(String);

impl fmt::Display for FormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FormError {}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    /// What it reads, in a line.
    pub(super) reads: String,
    /// Where the producer describes it.
    #[serde(default)]
    #[expect(dead_code, reason = "for people")]
    see: Vec<String>,
    /// Whether a file is one conversation whose items are its values, one after the other or in a list.
    #[serde(default)]
    pub(super) log: bool,
    /// By what a value is recognised: one of these has to hold. Of a log it is the first value, of others what is at `at`.
    #[serde(deserialize_with = "one_or_many")]
    pub(super) is: Vec<Conditions>,
    /// By what it is known not to be of this form.
    #[serde(default, deserialize_with = "one_or_many")]
    pub(super) is_not: Vec<Conditions>,
    /// Where a value may have its items: the first place where `is` holds.
    #[serde(default = "itself")]
    pub(super) at: Vec<Path>,
    /// Whether what is at `at` is one item, and not a list of them.
    #[serde(default)]
    pub(super) whole: bool,
    /// What the words for roles are in the chat API, beside those that are known.
    #[serde(default)]
    pub(super) roles: BTreeMap<String, String>,
    /// Members of items that say nothing of a run.
    #[serde(default)]
    pub(super) ignored: Vec<String>,
    /// What the object around the items says. Members that nothing here reads stay beside the messages.
    #[serde(default)]
    pub(super) row: Rule,
    /// What items say, by sets of rules: the first rule of a set whose conditions hold. Items are read by the set `item`.
    pub(super) rules: BTreeMap<String, Vec<Rule>>,
}

fn itself() -> Vec<Path> {
    vec![Path { up: 0, steps: Vec::new() }]
}

fn one_or_many<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Conditions>, D::Error> {
    let list = match Value::deserialize(deserializer)? {
        Value::Array(list) => list,
        one => vec![one],
    };
    let one = |value: Value| match value {
        Value::Object(map) => Conditions::try_from(map),
        _ => Err("conditions are a map of paths with what has to be there".to_owned()),
    };
    list.into_iter()
        .map(one)
        .collect::<Result<_, _>>()
        .map_err(serde::de::Error::custom)
}

/// What an item says.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Rule {
    /// When the rule is taken.
    pub(super) when: Conditions,
    /// It says nothing of a run.
    pub(super) ignored: bool,
    /// Kept for later items, as `$name`.
    pub(super) keep: BTreeMap<String, Source>,
    /// Members of the row.
    pub(super) row: BTreeMap<String, Source>,
    /// The system prompt of the conversation.
    pub(super) system: Option<Source>,
    /// The tools that the model was offered.
    pub(super) tools: Option<Source>,
    /// The message before ends here.
    pub(super) ends: bool,
    /// A message of this role begins.
    pub(super) role: Option<Source>,
    /// It is a part of the message before, if that has the same role and waits for no result.
    pub(super) joins: bool,
    /// What a message has beside its words: `timestamp`, `model`, `finish_reason`, `cost`, …
    pub(super) facts: BTreeMap<String, Source>,
    /// Tokens.
    pub(super) usage: Option<Usage>,
    /// Words.
    pub(super) text: Option<Source>,
    /// More of the same words.
    pub(super) text_more: Option<Source>,
    /// What the model thought.
    pub(super) thought: Option<Source>,
    /// More of the same thought.
    pub(super) thought_more: Option<Source>,
    /// A picture or another file.
    pub(super) media: Option<MediaRule>,
    /// A block that stays as it is.
    pub(super) block: Option<Source>,
    /// A call of a tool.
    pub(super) call: Option<CallRule>,
    /// What a call gave back.
    pub(super) result: Option<ResultRule>,
    /// A message of the chat API, as it is; with a list, several.
    pub(super) message: Option<Source>,
    /// A list of messages in any form that is known.
    pub(super) read: Option<Source>,
    /// Sets of rules for what is below: for a list each of its members, else the value.
    pub(super) each: Map<String, Value>,
    #[serde(skip)]
    pub(super) below: Vec<(Source, String)>,
}

/// Tokens of a model call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Usage {
    /// Where the counts are.
    pub(super) at: Source,
    pub(super) input: Source,
    pub(super) output: Source,
    pub(super) total: Option<Source>,
    pub(super) cache_read: Option<Source>,
    pub(super) cache_write: Option<Source>,
    pub(super) reasoning: Option<Source>,
    /// What the cache gave and took is not among the input.
    #[serde(default)]
    pub(super) cache_beside: bool,
}

/// A picture or another file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MediaRule {
    /// `image`, `audio`, `video`, `file`; by default what its type begins with.
    pub(super) kind: Option<Source>,
    pub(super) url: Option<Source>,
    /// Base64.
    pub(super) data: Option<Source>,
    pub(super) media_type: Option<Source>,
}

/// A call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallRule {
    /// What is said of a call again, by its id, completes it.
    pub(super) id: Option<Source>,
    pub(super) name: Option<Source>,
    pub(super) arguments: Option<Source>,
    /// The arguments, one by one.
    #[serde(default)]
    pub(super) arguments_of: BTreeMap<String, Source>,
    /// More of the same arguments, as text.
    pub(super) arguments_more: Option<Source>,
}

/// What a call gave back.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ResultRule {
    pub(super) id: Option<Source>,
    pub(super) name: Option<Source>,
    pub(super) content: Source,
    /// When the tool failed.
    #[serde(default)]
    pub(super) failed: Conditions,
    /// When there is a result at all.
    #[serde(default)]
    pub(super) when: Conditions,
    /// When it ended.
    pub(super) time: Option<Source>,
}

/// The set of rules by which items are read.
pub(super) const START: &str = "item";

/// The facts that a message may have, and the members of a row, are written as they are named; so are these of the chat API.
const TAKEN: [&str; 5] = ["role", "content", "tool_calls", "tool_call_id", "reasoning_content"];

impl Form {
    /// Reads and checks a table.
    pub(crate) fn of(name: &str, text: &str) -> Result<Self, FormError> {
        let mut table: Table =
            serde_saphyr::from_str(text).map_err(|error| FormError(format!("{name}: {}", with_nearest(&error.to_string()))))?;
        check(&mut table).map_err(|problem| FormError(format!("{name}: {problem}")))?;
        Ok(Self {
            name: name.to_owned(),
            table,
        })
    }

    /// Whether a file of it is one conversation.
    pub(crate) fn is_log(&self) -> bool {
        self.table.log
    }

    /// Whether an object is one item.
    pub(super) fn is_whole(&self) -> bool {
        self.table.whole
    }

    /// What it reads, in a line.
    pub(crate) fn reads(&self) -> &str {
        &self.table.reads
    }

    /// The rules that read the object around the items, where that is one item.
    pub(super) fn whole_rules(&self) -> impl Iterator<Item = &Rule> {
        let mut sets = vec![START];
        let mut next = 0;
        while let Some(set) = sets.get(next).filter(|_| self.table.whole) {
            let below = self.table.rules.get(*set).into_iter().flatten().flat_map(|rule| &rule.below);
            let same: Vec<&str> = below.filter(|(source, _)| source.is_whole()).map(|(_, set)| set.as_str()).collect();
            for set in same {
                if !sets.contains(&set) {
                    sets.push(set);
                }
            }
            next += 1;
        }
        sets.truncate(next);
        sets.into_iter().flat_map(|set| self.table.rules.get(set).into_iter().flatten())
    }

    /// The members of an item that a rule reads.
    pub(super) fn members<'r>(&'r self, rule: &'r Rule) -> impl Iterator<Item = &'r str> {
        let ignored = self.table.ignored.iter().map(String::as_str);
        rule.sources().flat_map(Source::members).chain(rule.conditions()).chain(ignored)
    }
}

impl Rule {
    pub(super) fn sources(&self) -> impl Iterator<Item = &Source> {
        let call = self
            .call
            .iter()
            .flat_map(|call| [&call.id, &call.name, &call.arguments, &call.arguments_more]);
        let result = self.result.iter().flat_map(|result| [&result.id, &result.name, &result.time]);
        let media = self
            .media
            .iter()
            .flat_map(|media| [&media.kind, &media.url, &media.data, &media.media_type]);
        let single = [
            &self.system,
            &self.tools,
            &self.role,
            &self.text,
            &self.text_more,
            &self.thought,
            &self.thought_more,
            &self.block,
            &self.message,
            &self.read,
        ];
        let single = single.into_iter().chain(call).chain(result).chain(media).flatten();
        let of_call = self.call.iter().flat_map(|call| call.arguments_of.values());
        let maps = [&self.keep, &self.row, &self.facts].into_iter().flat_map(BTreeMap::values);
        let below = self.below.iter().map(|(source, _)| source);
        let others = self.usage.iter().map(|usage| &usage.at);
        single
            .chain(maps)
            .chain(of_call)
            .chain(below)
            .chain(others)
            .chain(self.result.iter().map(|result| &result.content))
    }

    fn conditions(&self) -> impl Iterator<Item = &str> {
        let of_result = self.result.iter().flat_map(|result| [&result.failed, &result.when]);
        std::iter::once(&self.when).chain(of_result).flat_map(Conditions::members)
    }

    /// Whether it says anything.
    fn says(&self) -> bool {
        let is_marked = self.ignored || self.ends || self.usage.is_some();
        is_marked || self.media.is_some() || self.sources().next().is_some()
    }
}

fn check(table: &mut Table) -> Result<(), String> {
    let names: Vec<String> = table.rules.keys().cloned().collect();
    if !names.iter().any(|name| name == START) {
        return Err(format!("rules: there is no set `{START}`, by which items are read"));
    }
    if table.is.iter().any(Conditions::is_empty) || table.is.is_empty() {
        return Err("is: without a condition every value would be of this form".to_owned());
    }
    let sets = table.rules.iter_mut().map(|(name, rules)| (name.as_str(), rules.as_mut_slice()));
    let mut kept = Vec::new();
    let mut asked = Vec::new();
    for (name, rules) in sets.chain([("row", std::slice::from_mut(&mut table.row))]) {
        for (index, rule) in rules.iter_mut().enumerate() {
            let place = if name == "row" {
                "row".to_owned()
            } else {
                format!("rules: {name}: rule {}", index + 1)
            };
            for (path, set) in std::mem::take(&mut rule.each) {
                let set = set.as_str().unwrap_or_default().to_owned();
                if !names.contains(&set) {
                    return Err(format!(
                        "{place}: each: {}",
                        unknown("set of rules", &set, names.iter().map(String::as_str))
                    ));
                }
                let source = Source::try_from(path).map_err(|problem| format!("{place}: each: {problem}"))?;
                if !source.is_within() && !source.is_whole() {
                    return Err(format!("{place}: each: what is read again is below the value"));
                }
                rule.below.push((source, set));
            }
            if rule.read.as_ref().is_some_and(|read| !read.is_within() && !read.is_whole()) {
                return Err(format!("{place}: read: what is read again is below the value"));
            }
            if name != "row" && !rule.says() {
                return Err(format!("{place}: it says nothing; `ignored: true` is a rule for what says nothing"));
            }
            if let Some(taken) = rule.facts.keys().find(|fact| TAKEN.contains(&fact.as_str())) {
                return Err(format!("{place}: facts: `{taken}` is written by other members of a rule"));
            }
            kept.extend(rule.keep.keys().cloned());
            asked.extend(rule.sources().flat_map(Source::kept).map(|name| (place.clone(), name.to_owned())));
        }
    }
    for (place, name) in asked {
        if !kept.contains(&name) {
            return Err(format!(
                "{place}: {}",
                unknown("name of what is kept", &name, kept.iter().map(String::as_str))
            ));
        }
    }
    Ok(())
}

/// The parser's words; of an unknown member without the list of all that are known, and with the nearest.
fn with_nearest(problem: &str) -> String {
    let first = problem.lines().next().unwrap_or_default().trim_start_matches("error: ");
    let parts = first.split_once(": unknown field `").and_then(|(place, rest)| {
        let (name, known) = rest.split_once("`, expected one of ")?;
        Some((place, name, known))
    });
    match parts {
        Some((place, name, known)) => format!(
            "{place}: {}",
            unknown("member", name, known.split(", ").map(|known| known.trim_matches('`')))
        ),
        None => problem.to_owned(),
    }
}
