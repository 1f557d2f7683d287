//! Reads a dialect's rules from a registry file (`semconv/<dialect>/attributes.yaml`, or a user's `--semconv FILE`).
//!
//! The file is an OTel Weaver registry file (`file_format: definition/2`); our rules stand in
//! `annotations.spanbridge` of an attribute, an event or a span.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

use super::registry::Registry;
use super::rule::{Codec, Condition, Field, InverseRule, List, Place, Rule, Text};
use crate::operation::Kind;

/// Why a registry file cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileError {
    /// It is no YAML of the expected form.
    Yaml(Box<serde_saphyr::Error>),
    /// A rule has a word that nobody knows.
    Rule {
        /// The attribute's key, event's name or span's type.
        entry: String,
        /// What is wrong.
        problem: String,
    },
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Yaml(error) => write!(f, "not a registry file (file_format: definition/2): {error}"),
            Self::Rule { entry, problem } => write!(f, "{entry}: {problem}"),
        }
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Yaml(error) => Some(error),
            Self::Rule { .. } => None,
        }
    }
}

#[derive(Deserialize)]
struct FileText {
    #[serde(default)]
    attributes: Vec<EntryText>,
    #[serde(default)]
    events: Vec<EntryText>,
    #[serde(default)]
    spans: Vec<EntryText>,
}

#[derive(Deserialize)]
struct EntryText {
    #[serde(alias = "name", alias = "type_name")]
    key: Option<String>,
    #[serde(rename = "type", default)]
    kind: serde_json::Value,
    #[serde(default)]
    annotations: BTreeMap<String, serde_json::Value>,
}

#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
struct RuleText {
    field: String,
    #[serde(default)]
    codec: Option<String>,
    #[serde(default)]
    key: Option<String>,
    /// Several keys, each a rule: the first has the rank, those after it the next ones.
    #[serde(default)]
    keys: Vec<String>,
    #[serde(default)]
    place: Option<String>,
    #[serde(default)]
    rank: u16,
    #[serde(default)]
    path: Vec<String>,
    #[serde(default)]
    values: serde_json::Map<String, serde_json::Value>,
    #[serde(default)]
    when: WhenText,
    #[serde(default)]
    write: Option<WriteText>,
}

/// Whether operations are written under this key: always, on some kinds, or as these words for ours.
#[derive(Deserialize, Clone)]
#[serde(untagged)]
enum WriteText {
    Always(bool),
    Kinds(Vec<String>),
    Words(BTreeMap<String, String>),
}

#[derive(Deserialize, Clone, Default)]
#[serde(deny_unknown_fields)]
struct WhenText {
    #[serde(default)]
    scope: Vec<String>,
    #[serde(default)]
    name: Vec<String>,
    #[serde(default)]
    has: Vec<String>,
    #[serde(default)]
    lacks: Vec<String>,
    #[serde(default)]
    kind: Vec<String>,
    #[serde(default)]
    attribute: serde_json::Map<String, serde_json::Value>,
}

/// The rules in the text of a registry file.
///
/// # Errors
/// When the text is no such file, or a rule has an unknown field, codec, place or kind.
pub fn rules(dialect: &str, text: &str) -> Result<Vec<Rule>, FileError> {
    let parsed = entries(text, |entry, text| rule(dialect, entry, text))?;
    Ok(parsed)
}

/// The inverse rules in the text of a registry file: those that are marked with `write`.
///
/// # Errors
/// As [`rules`].
pub fn inverse_rules(dialect: &str, text: &str) -> Result<Vec<InverseRule>, FileError> {
    let parsed = entries(text, |entry, mut text| {
        let mark = text.write.take();
        let rule = rule(dialect, entry, text)?;
        mark.map_or(Ok(None), |mark| inverse(rule, mark))
    })?;
    Ok(parsed.into_iter().flatten().collect())
}

fn entries<T>(text: &str, make: impl Fn(&str, RuleText) -> Result<T, String>) -> Result<Vec<T>, FileError> {
    let file: FileText = serde_saphyr::from_str(text).map_err(|error| FileError::Yaml(Box::new(error)))?;
    let mut out = Vec::new();
    for entry in file.attributes.into_iter().chain(file.events).chain(file.spans) {
        let key = entry.key.or_else(|| entry.kind.as_str().map(str::to_owned)).unwrap_or_default();
        let Some(annotation) = entry.annotations.get("spanbridge") else {
            continue;
        };
        let texts = match annotation {
            serde_json::Value::Array(list) => list.clone(),
            one => vec![one.clone()],
        };
        for text in texts {
            let problem = |problem: String| FileError::Rule {
                entry: key.clone(),
                problem,
            };
            let mut parsed: RuleText = serde_json::from_value(text).map_err(|error| problem(error.to_string()))?;
            let keys = std::mem::take(&mut parsed.keys);
            if keys.is_empty() {
                out.push(make(&key, parsed).map_err(problem)?);
                continue;
            }
            for (after, key) in (0..).zip(keys) {
                let one = RuleText {
                    rank: parsed.rank.saturating_add(after),
                    ..parsed.clone()
                };
                out.push(make(&key, one).map_err(problem)?);
            }
        }
    }
    Ok(out)
}

impl Registry {
    /// These rules and those of a user's registry file, which win.
    ///
    /// # Errors
    /// When the text is no registry file, or a rule in it has an unknown word.
    pub fn with_file_text(&self, text: &str) -> Result<Self, FileError> {
        Ok(self.with_rules(rules("own", text)?))
    }
}

fn rule(dialect: &str, entry: &str, text: RuleText) -> Result<Rule, String> {
    let field = Field::from_word(&text.field).ok_or_else(|| format!("no such field: {}", text.field))?;
    let codec = text.codec.as_deref().unwrap_or("text");
    let codec = Codec::from_word(codec).ok_or_else(|| format!("no such codec: {codec}"))?;
    let place = place(text.place.as_deref().unwrap_or("span"))?;
    let key = text.key.unwrap_or_else(|| entry.to_owned());
    let (key, prefix) = key.strip_suffix('*').map_or((key.clone(), false), |start| (start.to_owned(), true));
    let (key, place) = match key.strip_prefix("*.") {
        Some(end) if place == Place::Span => (end.trim_end_matches('.').to_owned(), Place::Suffix),
        Some(_) => return Err(format!("only keys of span attributes begin with `*.`: {key}")),
        None => (key, place),
    };
    let kinds = text
        .when
        .kind
        .iter()
        .map(|word| Kind::from_name(word).ok_or_else(|| format!("no such kind: {word}")))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Rule {
        dialect: leak(dialect.to_owned()),
        key: leak(key),
        prefix,
        place,
        field,
        codec,
        rank: text.rank,
        when: Condition {
            scope: texts(text.when.scope),
            name: texts(text.when.name),
            has: texts(text.when.has),
            lacks: texts(text.when.lacks),
            kinds: leak_list(kinds),
            attribute: pairs(text.when.attribute),
        },
        paths: texts(text.path),
        values: pairs(text.values),
    })
}

fn inverse(rule: Rule, mark: WriteText) -> Result<Option<InverseRule>, String> {
    if rule.place != Place::Span {
        return Err("write: only attributes of spans are written".to_owned());
    }
    let of_name = |word: &String| Kind::from_name(word).ok_or_else(|| format!("no such kind: {word}"));
    let mut words: Vec<(Text, Text)> = rule.values.iter().map(|(theirs, ours)| (*ours, *theirs)).collect();
    let mut kinds = rule.when.kinds;
    match mark {
        WriteText::Always(false) => return Ok(None),
        WriteText::Always(true) => {}
        WriteText::Kinds(list) => kinds = leak_list(list.iter().map(of_name).collect::<Result<_, _>>()?),
        WriteText::Words(map) => words.extend(map.into_iter().map(|(ours, theirs)| (leak(ours), leak(theirs)))),
    }
    Ok(Some(InverseRule {
        dialect: rule.dialect,
        key: rule.key,
        prefix: rule.prefix,
        field: rule.field,
        codec: rule.codec,
        kinds,
        words: leak_list(words),
    }))
}

fn place(word: &str) -> Result<Place, String> {
    Ok(match word.split_once(':') {
        None if word == "span" => Place::Span,
        None if word == "resource" => Place::Resource,
        None if word == "name" => Place::Name,
        Some(("event", name)) => Place::Event(leak(name.to_owned())),
        Some(("log", name)) => Place::Log(leak(name.to_owned())),
        Some(("log_near", name)) => Place::LogNear(leak(name.to_owned())),
        Some(("log_scope", name)) => Place::LogScope(leak(name.to_owned())),
        _ => return Err(format!("no such place: {word}")),
    })
}

fn texts(list: Vec<String>) -> List<Text> {
    leak_list(list.into_iter().map(leak).collect())
}

fn pairs(map: serde_json::Map<String, serde_json::Value>) -> List<(Text, Text)> {
    let pairs = map.into_iter().map(|(key, value)| {
        let value = match value {
            serde_json::Value::String(text) => text,
            other => other.to_string(),
        };
        (leak(key), leak(value))
    });
    leak_list(pairs.collect())
}

/// Rules live as long as the program, so their texts may too; a program reads such a file once.
fn leak(text: String) -> Text {
    Box::leak(text.into_boxed_str())
}

fn leak_list<T>(list: Vec<T>) -> List<T> {
    if list.is_empty() { &[] } else { Box::leak(list.into_boxed_slice()) }
}
