//! Reads a dialect's rules from a registry file (`semconv/<dialect>/attributes.yaml`, or a user's `--semconv FILE`).
//!
//! The file is an OTel Weaver registry file (`file_format: definition/2`); our rules are in `annotations.spanbridge` of an attribute, event
//! or span. Conditions shared by all rules of a dialect are written once: under `spanbridge` in the folder's `manifest.yaml`, or at the top
//! of a user's file.

mod error;
mod user;

use std::collections::BTreeMap;

use serde::Deserialize;

use super::band::Band;
use super::registry::Registry;
use super::rule::{Codec, Condition, Field, InverseRule, List, Location, Rule, Text};
use crate::operation::Kind;

pub use error::FileError;

#[derive(Deserialize)]
struct FileText {
    #[serde(default)]
    spanbridge: DefaultsText,
    #[serde(default)]
    attributes: Vec<EntryText>,
    #[serde(default)]
    events: Vec<EntryText>,
    #[serde(default)]
    spans: Vec<EntryText>,
}

#[derive(Deserialize)]
struct ManifestText {
    #[serde(default)]
    spanbridge: DefaultsText,
}

/// Default conditions of rules.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct DefaultsText {
    /// For every rule.
    #[serde(default)]
    when: WhenText,
    /// For the rules of a field.
    #[serde(default)]
    fields: BTreeMap<String, WhenText>,
}

impl DefaultsText {
    fn fill(&self, rule: &mut RuleText) {
        if let Some(when) = self.fields.get(&rule.field) {
            rule.when.fill(when);
        }
        rule.when.fill(&self.when);
    }

    fn unknown_field(&self) -> Option<&str> {
        self.fields
            .keys()
            .map(String::as_str)
            .find(|field| Field::from_word(field).is_none())
    }
}

#[derive(Deserialize)]
struct EntryText {
    /// Set for an attribute.
    key: Option<String>,
    /// Set for an event; for a span it is a map.
    #[serde(default)]
    name: serde_json::Value,
    /// Set for a span; for an attribute it is the type of its values.
    #[serde(rename = "type", default)]
    kind: serde_json::Value,
    #[serde(default)]
    annotations: BTreeMap<String, serde_json::Value>,
    /// Annotations for other tools.
    #[serde(flatten)]
    others: BTreeMap<String, serde_json::Value>,
}

impl EntryText {
    /// The name of the attribute, event or span.
    fn name(&self) -> &str {
        let names = [self.key.as_deref(), self.name.as_str(), self.kind.as_str()];
        names.into_iter().flatten().next().unwrap_or_default()
    }
}

#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
struct RuleText {
    field: String,
    #[serde(default)]
    codec: Option<String>,
    #[serde(default)]
    key: Option<String>,
    /// Several keys, each a rule; the first that has a value wins.
    #[serde(default)]
    keys: Vec<String>,
    #[serde(default)]
    place: Option<String>,
    #[serde(default)]
    rank: Option<RankText>,
    #[serde(default)]
    path: Vec<String>,
    #[serde(default)]
    values: serde_json::Map<String, serde_json::Value>,
    #[serde(default)]
    when: WhenText,
    #[serde(default)]
    write: Option<WriteText>,
}

/// A band with steps behind it, or a number; 0 beats everything.
#[derive(Deserialize, Clone)]
#[serde(untagged)]
enum RankText {
    Number(u16),
    Band(String),
}

/// Whether operations are written under this key: always, for some kinds, or with these words for ours.
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
    scope: Option<Vec<String>>,
    name: Option<Vec<String>>,
    has: Option<Vec<String>>,
    lacks: Option<Vec<String>>,
    kind: Option<Vec<String>>,
    attribute: Option<serde_json::Map<String, serde_json::Value>>,
}

impl WhenText {
    /// Inherits missing conditions; an empty list means that there is no such condition.
    fn fill(&mut self, other: &Self) {
        fn fill<T: Clone>(have: &mut Option<T>, other: &Option<T>) {
            if have.is_none() {
                have.clone_from(other);
            }
        }
        fill(&mut self.scope, &other.scope);
        fill(&mut self.name, &other.name);
        fill(&mut self.has, &other.has);
        fill(&mut self.lacks, &other.lacks);
        fill(&mut self.kind, &other.kind);
        fill(&mut self.attribute, &other.attribute);
    }
}

/// A folder of `semconv/`.
#[derive(Debug, Clone, Copy)]
pub struct Folder<'a> {
    /// The dialect's name.
    pub dialect: &'a str,
    /// Its place among the dialects, from 1: between rules of equal rank, the first dialect wins.
    pub place: u16,
    /// The text of `manifest.yaml`.
    pub manifest: &'a str,
    /// The text of `attributes.yaml`.
    pub attributes: &'a str,
}

impl Folder<'_> {
    /// The rules of the folder.
    ///
    /// # Errors
    /// When a text is not such a file, or a rule has an unknown field, codec, rank, place or kind.
    pub fn rules(&self) -> Result<Vec<Rule>, FileError> {
        self.read().rules()
    }

    /// The folder's inverse rules: those marked with `write`.
    ///
    /// # Errors
    /// As [`Folder::rules`].
    pub fn inverse_rules(&self) -> Result<Vec<InverseRule>, FileError> {
        self.read().inverse_rules()
    }

    fn read(&self) -> Source<'_> {
        Source {
            dialect: self.dialect,
            place: Some(self.place),
            manifest: Some(self.manifest),
            text: self.attributes,
        }
    }
}

/// A source of rules: a folder, or a user's file, which has no place and no manifest.
struct Source<'a> {
    dialect: &'a str,
    place: Option<u16>,
    manifest: Option<&'a str>,
    text: &'a str,
}

/// The rules in a user's registry file.
///
/// # Errors
/// When the text is not such a file or has no rules, or a rule has an unknown field, codec, rank, place or kind.
pub fn rules(dialect: &str, text: &str) -> Result<Vec<Rule>, FileError> {
    let source = Source {
        dialect,
        place: None,
        manifest: None,
        text,
    };
    source.refuse_what_has_no_effect()?;
    source.rules()
}

impl Source<'_> {
    fn rules(&self) -> Result<Vec<Rule>, FileError> {
        self.entries(|entry, text| self.rule(entry, text))
    }

    fn inverse_rules(&self) -> Result<Vec<InverseRule>, FileError> {
        let parsed = self.entries(|entry, mut text| {
            let mark = text.write.take();
            let rule = self.rule(entry, text)?;
            mark.map_or(Ok(None), |mark| inverse(rule, mark))
        })?;
        Ok(parsed.into_iter().flatten().collect())
    }

    fn entries<T>(&self, make: impl Fn(&str, RuleText) -> Result<T, String>) -> Result<Vec<T>, FileError> {
        let file: FileText = yaml(self.text)?;
        let defaults = match self.manifest {
            Some(manifest) => yaml::<ManifestText>(manifest)?.spanbridge,
            None => file.spanbridge,
        };
        if let Some(field) = defaults.unknown_field() {
            return Err(FileError::Rule {
                entry: "spanbridge.fields".to_owned(),
                problem: format!("no such field: {field}"),
            });
        }
        let mut out = Vec::new();
        for entry in file.attributes.into_iter().chain(file.events).chain(file.spans) {
            let key = entry.name();
            let Some(annotation) = entry.annotations.get("spanbridge") else {
                continue;
            };
            let texts = match annotation {
                serde_json::Value::Array(list) => list.clone(),
                one => vec![one.clone()],
            };
            for text in texts {
                let problem = |problem: String| FileError::Rule {
                    entry: key.to_owned(),
                    problem,
                };
                let mut parsed: RuleText = serde_json::from_value(text).map_err(|error| problem(error.to_string()))?;
                defaults.fill(&mut parsed);
                let keys = std::mem::take(&mut parsed.keys);
                if keys.is_empty() {
                    out.push(make(key, parsed).map_err(problem)?);
                    continue;
                }
                for key in keys {
                    out.push(make(&key, parsed.clone()).map_err(problem)?);
                }
            }
        }
        Ok(out)
    }

    /// The rank of a rule. Without one, a rule in `semconv/` counts as stated, and a rule in a user's file beats everything.
    fn rank(&self, text: Option<RankText>) -> Result<u16, String> {
        let place = self.place.unwrap_or_default();
        match text {
            Some(RankText::Number(number)) => Ok(number),
            Some(RankText::Band(text)) => Band::parse(&text).map(|(band, behind)| band.rank(place, behind)),
            None if self.place.is_none() => Ok(0),
            None => Ok(Band::Stated.rank(place, 0)),
        }
    }

    fn rule(&self, entry: &str, text: RuleText) -> Result<Rule, String> {
        let field = Field::from_word(&text.field).ok_or_else(|| format!("no such field: {}", text.field))?;
        let codec = text.codec.as_deref().unwrap_or("text");
        let codec = Codec::from_word(codec).ok_or_else(|| format!("no such codec: {codec}"))?;
        let location = location(text.place.as_deref().unwrap_or("span"))?;
        let key = text.key.unwrap_or_else(|| entry.to_owned());
        let (key, prefix) = key.strip_suffix('*').map_or((key.clone(), false), |start| (start.to_owned(), true));
        let (key, location) = match key.strip_prefix("*.") {
            Some(end) if location == Location::Span => (end.trim_end_matches('.').to_owned(), Location::Suffix),
            Some(_) => return Err(format!("only keys of span attributes begin with `*.`: {key}")),
            None => (key, location),
        };
        let kinds = text
            .when
            .kind
            .unwrap_or_default()
            .iter()
            .map(|word| Kind::from_name(word).ok_or_else(|| format!("no such kind: {word}")))
            .collect::<Result<Vec<_>, _>>()?;
        let values = pairs(text.values);
        if let Some((_, word)) = values
            .iter()
            .find(|(_, word)| self.place.is_none() && field == Field::Kind && Kind::from_name(word).is_none())
        {
            return Err(format!("no such kind: {word}"));
        }
        Ok(Rule {
            dialect: leak(self.dialect.to_owned()),
            key: leak(key),
            prefix,
            location,
            field,
            codec,
            rank: self.rank(text.rank)?,
            when: Condition {
                scope: texts(text.when.scope.unwrap_or_default()),
                name: texts(text.when.name.unwrap_or_default()),
                has: texts(text.when.has.unwrap_or_default()),
                lacks: texts(text.when.lacks.unwrap_or_default()),
                kinds: leak_list(kinds),
                attribute: pairs(text.when.attribute.unwrap_or_default()),
            },
            paths: texts(text.path),
            values,
        })
    }
}

fn yaml<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, FileError> {
    serde_saphyr::from_str(text).map_err(|error| FileError::Yaml(Box::new(error)))
}

impl Registry {
    /// Adds the rules of a user's registry file, which win.
    ///
    /// # Errors
    /// When the text is not a registry file, or a rule in it has an unknown word.
    pub fn with_file_text(&self, text: &str) -> Result<Self, FileError> {
        Ok(self.with_rules(rules("own", text)?))
    }
}

fn inverse(rule: Rule, mark: WriteText) -> Result<Option<InverseRule>, String> {
    if rule.location != Location::Span {
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

fn location(word: &str) -> Result<Location, String> {
    Ok(match word.split_once(':') {
        None if word == "span" => Location::Span,
        None if word == "resource" => Location::Resource,
        None if word == "name" => Location::Name,
        Some(("event", name)) => Location::Event(leak(name.to_owned())),
        Some(("log", name)) => Location::Log(leak(name.to_owned())),
        Some(("log_near", name)) => Location::LogNear(leak(name.to_owned())),
        Some(("log_scope", name)) => Location::LogScope(leak(name.to_owned())),
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

/// Rules live as long as the program, so their texts may be leaked; a program reads such a file once.
fn leak(text: String) -> Text {
    Box::leak(text.into_boxed_str())
}

fn leak_list<T>(list: Vec<T>) -> List<T> {
    if list.is_empty() { &[] } else { Box::leak(list.into_boxed_slice()) }
}
