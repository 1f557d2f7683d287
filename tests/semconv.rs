//! The Rust tables of the dialects are those of `semconv/`. `UPDATE=1 cargo test --test semconv` writes them.
#![expect(clippy::unwrap_used, reason = "a test may")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use spanbridge::dialect::rule::{Condition, InverseRule, List, Text};
use spanbridge::dialect::{Location, Rule, file};

/// Of the crate: `tests/tables` builds these tests, too.
fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest
        .ancestors()
        .find(|folder| folder.join("semconv").is_dir())
        .unwrap()
        .to_owned()
}

/// What the pages for contributors tell people to run.
#[test]
fn the_pages_name_tests_that_are_there() {
    const COMMAND: &str = "cargo test --manifest-path tests/tables/Cargo.toml --test ";
    let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    let manifest = read("tests/tables/Cargo.toml");
    for (page, test) in [
        ("src/docs/adding_a_dialect.md", "semconv"),
        ("src/docs/adding_a_format.md", "formats"),
        ("semconv/README.md", "semconv"),
    ] {
        let page = read(page);
        let mut named = page.split(COMMAND).skip(1).map(|rest| rest.split(['`', ' ']).next().unwrap());
        assert_eq!(named.next(), Some(test));
        assert!(manifest.contains(&format!("[[test]]\nname = \"{test}\"\n")), "{test}");
    }
}

/// The folders of dialects. Forms are no attributes.
fn dialects() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(root().join("semconv"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir() && entry.file_name() != "forms")
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    dialects: Vec<String>,
}

/// The dialects in the order of `semconv/order.yaml`, then those that it does not name, then what no dialect knows.
fn order() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("semconv/order.yaml")).unwrap();
    let Order { dialects: named } = serde_saphyr::from_str(&text).unwrap();
    let all = dialects();
    for name in &named {
        assert!(all.contains(name), "semconv/order.yaml names {name}, which is no folder");
    }
    let mut order: Vec<String> = named.iter().filter(|name| *name != "unknown").cloned().collect();
    order.extend(all.into_iter().filter(|name| !named.contains(name)));
    order.push("unknown".to_owned());
    order
}

fn read(name: &str, file: &str) -> String {
    std::fs::read_to_string(root().join("semconv").join(name).join(file)).unwrap()
}

fn texts(list: &List<Text>) -> String {
    let items: Vec<String> = list.iter().map(|text| format!("{text:?}")).collect();
    format!("&[{}]", items.join(", "))
}

fn pairs(list: &List<(Text, Text)>) -> String {
    let items: Vec<String> = list.iter().map(|(a, b)| format!("({a:?}, {b:?})")).collect();
    format!("&[{}]", items.join(", "))
}

fn condition(when: &Condition) -> String {
    if *when == Condition::ALWAYS {
        return "Condition::ALWAYS".to_owned();
    }
    let kinds: Vec<String> = when.kinds.iter().map(|kind| format!("Kind::{kind:?}")).collect();
    format!(
        "Condition {{ scope: {}, name: {}, has: {}, lacks: {}, kinds: &[{}], attribute: {} }}",
        texts(&when.scope),
        texts(&when.name),
        texts(&when.has),
        texts(&when.lacks),
        kinds.join(", "),
        pairs(&when.attribute)
    )
}

fn location(location: &Location) -> String {
    match location {
        Location::Span => "Location::Span".to_owned(),
        Location::Suffix => "Location::Suffix".to_owned(),
        Location::Resource => "Location::Resource".to_owned(),
        Location::Name => "Location::Name".to_owned(),
        Location::Event(name) => format!("Location::Event({name:?})"),
        Location::Log(name) => format!("Location::Log({name:?})"),
        Location::LogNear(name) => format!("Location::LogNear({name:?})"),
        Location::LogScope(name) => format!("Location::LogScope({name:?})"),
    }
}

fn table(rules: &[Rule]) -> String {
    let mut out = String::from(
        "// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.\n\n#[allow(clippy::wildcard_imports, unused_imports, reason = \"generated\")]\nuse super::prelude::*;\n\npub(super) static RULES: &[Rule] = &[\n",
    );
    for rule in rules {
        writeln!(
            out,
            "    Rule {{ dialect: {:?}, key: {:?}, prefix: {}, location: {}, field: Field::{}, codec: Codec::{}, rank: {}, when: {}, paths: {}, values: {} }},",
            rule.dialect,
            rule.key,
            rule.prefix,
            location(&rule.location),
            rule.field.variant(),
            rule.codec.variant(),
            rule.rank,
            condition(&rule.when),
            texts(&rule.paths),
            pairs(&rule.values),
        )
        .unwrap();
    }
    out.push_str("];\n");
    out
}

fn inverse_table(rules: &[InverseRule]) -> String {
    let mut out = String::from("\npub(super) static INVERSE_RULES: &[InverseRule] = &[\n");
    for rule in rules {
        let kinds: Vec<String> = rule.kinds.iter().map(|kind| format!("Kind::{kind:?}")).collect();
        writeln!(
            out,
            "    InverseRule {{ dialect: {:?}, key: {:?}, prefix: {}, field: Field::{}, codec: Codec::{}, kinds: &[{}], words: {} }},",
            rule.dialect,
            rule.key,
            rule.prefix,
            rule.field.variant(),
            rule.codec.variant(),
            kinds.join(", "),
            pairs(&rule.words),
        )
        .unwrap();
    }
    out.push_str("];\n");
    out
}

const PRELUDE: &str = "//! Rules of the dialects in `semconv/`, one file a dialect.
// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

mod prelude {
    pub(super) use crate::dialect::rule::{Codec, Condition, Field, InverseRule, Location, Rule};
    pub(super) use crate::operation::Kind;
}

";

fn check(path: &Path, want: &str) {
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, want).unwrap();
        return;
    }
    let have = std::fs::read_to_string(path).unwrap_or_default();
    assert!(have == want, "{} is stale: run UPDATE=1 cargo test --test semconv", path.display());
}

#[test]
fn tables_are_fresh() {
    let folder = root().join("src/dialect/generated");
    let mut index = String::from(PRELUDE);
    let mut list = String::new();
    let mut inverse_list = String::new();
    let order = order();
    for name in dialects() {
        let manifest = read(&name, "manifest.yaml");
        let attributes = read(&name, "attributes.yaml");
        let before = order.iter().position(|have| *have == name).unwrap();
        let registry = file::Folder {
            dialect: &name,
            place: u16::try_from(before + 1).unwrap(),
            manifest: &manifest,
            attributes: &attributes,
        };
        let rules = registry.rules().unwrap_or_else(|error| panic!("semconv/{name}: {error}"));
        let inverse = registry.inverse_rules().unwrap_or_else(|error| panic!("semconv/{name}: {error}"));
        let mut tables = table(&rules);
        if !inverse.is_empty() {
            tables.push_str(&inverse_table(&inverse));
            writeln!(inverse_list, "    {name}::INVERSE_RULES,").unwrap();
        }
        check(&folder.join(format!("{name}.rs")), &tables);
        writeln!(index, "#[rustfmt::skip]\nmod {name};").unwrap();
        writeln!(list, "    {name}::RULES,").unwrap();
    }
    writeln!(index, "#[rustfmt::skip]\npub(super) mod frameworks;").unwrap();
    writeln!(
        index,
        "\n/// The rules, by dialect.\n#[rustfmt::skip]\npub(super) static TABLES: &[&[crate::dialect::Rule]] = &[\n{list}];\n\n/// The inverse rules, of the dialects that are written.\n#[rustfmt::skip]\npub(crate) static INVERSE_TABLES: &[&[crate::dialect::rule::InverseRule]] = &[\n{inverse_list}];"
    )
    .unwrap();
    check(&folder.join("mod.rs"), &index);
}

/// What Weaver takes of a `definition/2` file, as far as `semconv/` uses it.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {
    file_format: String,
    #[serde(default)]
    attributes: Vec<Attribute>,
    #[serde(default)]
    events: Vec<Event>,
    #[serde(default)]
    spans: Vec<SpanType>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Attribute {
    key: String,
    #[serde(rename = "type")]
    kind: String,
    brief: String,
    #[serde(rename = "stability")]
    _stability: Stability,
    annotations: Annotations,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Event {
    name: String,
    brief: String,
    requirement_level: String,
    #[serde(rename = "stability")]
    _stability: Stability,
    annotations: Annotations,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct SpanType {
    #[serde(rename = "type")]
    name_of_type: String,
    kind: String,
    name: SpanName,
    brief: String,
    requirement_level: String,
    #[serde(rename = "stability")]
    _stability: Stability,
    annotations: Annotations,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct SpanName {
    note: String,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stability {
    Stable,
    Development,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Annotations {
    seen: Vec<String>,
    #[serde(default)]
    source: String,
    #[serde(rename = "spanbridge")]
    _rules: serde_json::Value,
}

/// A manifest of a registry that is not published: `file_format` would say that it is.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    schema_url: String,
    description: String,
    stability: Stability,
    #[serde(rename = "spanbridge", default)]
    _shared: serde_json::Value,
}

fn described(dialect: &str) -> Described {
    let text = read(dialect, "attributes.yaml");
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("semconv/{dialect}/attributes.yaml: {error}"))
}

#[test]
fn registries_have_the_form_of_weavers() {
    const TYPES: [&str; 5] = ["string", "int", "double", "boolean", "any"];
    for dialect in dialects() {
        let manifest: Manifest = serde_saphyr::from_str(&read(&dialect, "manifest.yaml"))
            .unwrap_or_else(|error| panic!("semconv/{dialect}/manifest.yaml: {error}"));
        assert_eq!(manifest.schema_url, format!("https://spanbridge.dev/schemas/{dialect}/0.1.0"));
        assert!(
            !manifest.description.is_empty() && matches!(manifest.stability, Stability::Development),
            "{dialect}"
        );
        let registry = described(&dialect);
        assert_eq!(registry.file_format, "definition/2", "{dialect}");
        let mut names: Vec<&str> = Vec::new();
        for attribute in &registry.attributes {
            let bare = attribute.kind.strip_prefix("template[").and_then(|kind| kind.strip_suffix(']'));
            let one = bare.unwrap_or(&attribute.kind).trim_end_matches("[]");
            assert!(
                TYPES.contains(&one),
                "semconv/{dialect}: {}: type {}",
                attribute.key,
                attribute.kind
            );
            assert_eq!(
                bare.is_some(),
                attribute.key.ends_with(".*"),
                "semconv/{dialect}: {}",
                attribute.key
            );
            names.push(&attribute.key);
        }
        for event in &registry.events {
            assert_eq!(event.requirement_level, "recommended", "semconv/{dialect}: {}", event.name);
            names.push(&event.name);
        }
        for span in &registry.spans {
            assert_eq!(span.requirement_level, "recommended", "semconv/{dialect}: {}", span.name_of_type);
            assert!(
                span.kind == "internal" && !span.name.note.is_empty(),
                "semconv/{dialect}: {}",
                span.name_of_type
            );
            names.push(&span.name_of_type);
        }
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "semconv/{dialect} has two entries of one name");
    }
}

/// A package and its version: `langfuse 5.0.4`.
fn is_package(text: &str) -> bool {
    text.rsplit_once(' ').is_some_and(|(name, version)| {
        !name.is_empty() && version.trim_start_matches('v').starts_with(|first: char| first.is_ascii_digit())
    })
}

#[test]
fn each_entry_says_what_it_means_and_who_sends_it() {
    let mut bad: Vec<String> = Vec::new();
    for dialect in dialects() {
        let registry = described(&dialect);
        let attributes = registry.attributes.iter().map(|it| (&it.key, &it.brief, &it.annotations));
        let events = registry.events.iter().map(|it| (&it.name, &it.brief, &it.annotations));
        let spans = registry.spans.iter().map(|it| (&it.name_of_type, &it.brief, &it.annotations));
        for (name, brief, annotations) in attributes.chain(events).chain(spans) {
            let mut complain = |problem: &str| bad.push(format!("semconv/{dialect}: {name}: {problem}"));
            if brief.split_whitespace().count() < 2 || !brief.ends_with('.') || brief.starts_with("Feeds") {
                complain("the brief does not say in a sentence what the key means");
            }
            if annotations.seen.is_empty() == annotations.source.is_empty() {
                complain("either `seen` names packages, or `source` says whence the key is known");
            }
            if !annotations.seen.iter().all(|package| is_package(package)) {
                complain("`seen` is a list of packages with their versions");
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Frameworks {
    frameworks: Vec<Line>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    framework: String,
    #[serde(default)]
    scopes: Vec<String>,
    #[serde(default)]
    keys: Vec<String>,
    #[serde(default)]
    attributes: Vec<(String, String)>,
    #[serde(default)]
    version: Option<String>,
}

#[test]
fn the_table_of_frameworks_is_fresh() {
    let text = std::fs::read_to_string(root().join("semconv/frameworks.yaml")).unwrap();
    let Frameworks { frameworks } = serde_saphyr::from_str(&text).unwrap();
    let mut out = String::from(
        "// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.\n\nuse crate::dialect::Framework;\n\npub(in crate::dialect) static FRAMEWORKS: &[Framework] = &[\n",
    );
    for line in frameworks {
        let has_version = line.version.is_some_and(|version| {
            assert_eq!(version, "scope", "{}", line.framework);
            true
        });
        writeln!(
            out,
            "    Framework {{ name: {:?}, scopes: &{:?}, keys: &{:?}, attributes: &{:?}, has_version: {has_version} }},",
            line.framework, line.scopes, line.keys, line.attributes
        )
        .unwrap();
    }
    out.push_str("];\n");
    check(&root().join("src/dialect/generated/frameworks.rs"), &out);
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Providers {
    none: Vec<String>,
    spellings: BTreeMap<String, Vec<String>>,
    with_api: Vec<String>,
    openinference: BTreeMap<String, Vec<String>>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct SpanNames {
    agents: Named,
    tools: Named,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    forms: Vec<String>,
    ends: Vec<String>,
    nameless: Vec<String>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Cancellations {
    classes: Vec<String>,
    plain: Vec<String>,
    messages: Vec<String>,
    timeouts: Vec<String>,
}

/// The Rust tables of a module: name, type of an item and the items of each.
fn lists(module: &str, tables: &[(&str, &str, String)]) {
    let mut out = String::from("// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.\n\n");
    for (name, item, items) in tables {
        writeln!(out, "pub(super) static {name}: &[{item}] = &{items};").unwrap();
    }
    check(&root().join("src").join(module).join("table.rs"), &out);
}

#[test]
fn the_tables_of_providers_and_span_names_are_fresh() {
    let read = |file: &str| std::fs::read_to_string(root().join("semconv").join(file)).unwrap();
    let providers: Providers = serde_saphyr::from_str(&read("providers.yaml")).unwrap();
    let spellings = providers.spellings.iter();
    let spellings: Vec<(&String, &String)> = spellings
        .flat_map(|(one, others)| others.iter().map(move |other| (other, one)))
        .collect();
    let openinference: Vec<(&String, &String, Option<&String>)> = providers
        .openinference
        .iter()
        .map(|(ours, theirs)| (ours, theirs.first().expect("a provider"), theirs.get(1)))
        .collect();
    lists(
        "dialect/providers",
        &[
            ("NONE", "&str", format!("{:?}", providers.none)),
            ("SPELLINGS", "(&str, &str)", format!("{spellings:?}")),
            ("WITH_API", "&str", format!("{:?}", providers.with_api)),
            ("OPENINFERENCE", "(&str, &str, Option<&str>)", format!("{openinference:?}")),
        ],
    );
    let names: SpanNames = serde_saphyr::from_str(&read("span_names.yaml")).unwrap();
    let mut tables = Vec::new();
    for (what, named) in [("AGENT", &names.agents), ("TOOL", &names.tools)] {
        let form = |form: &String| form.split_once('*').map(|(before, behind)| (before.to_owned(), behind.to_owned()));
        let forms: Option<Vec<(String, String)>> = named.forms.iter().map(form).collect();
        let forms = forms.expect("each form has a `*` for the name");
        tables.push((format!("{what}_FORMS"), "(&str, &str)", format!("{forms:?}")));
        tables.push((format!("{what}_ENDS"), "&str", format!("{:?}", named.ends)));
        tables.push((format!("{what}_NAMELESS"), "&str", format!("{:?}", named.nameless)));
    }
    let tables: Vec<(&str, &str, String)> = tables
        .iter()
        .map(|(name, item, items)| (name.as_str(), *item, items.clone()))
        .collect();
    lists("dialect/span_names", &tables);
}

#[test]
fn the_table_of_cancellations_is_fresh() {
    let text = std::fs::read_to_string(root().join("semconv/cancellations.yaml")).unwrap();
    let words: Cancellations = serde_saphyr::from_str(&text).unwrap();
    let tables = [
        ("CLASSES", words.classes),
        ("PLAIN", words.plain),
        ("MESSAGES", words.messages),
        ("TIMEOUTS", words.timeouts),
    ];
    let tables = tables.map(|(name, list)| (name, "&str", format!("{list:?}")));
    lists("operation/failure", &tables);
}

#[test]
fn a_file_with_an_unknown_word_is_refused_by_name() {
    let text = "file_format: definition/2\nattributes:\n  - key: my.model\n    type: string\n    brief: x\n    stability: development\n    annotations:\n      spanbridge: {field: modell}\n";
    let error = file::rules("own", text).unwrap_err().to_string();
    assert_eq!(error, "my.model: no such field: modell");
}

#[test]
fn what_a_file_says_in_vain_is_refused_by_name() {
    let attribute = |annotation: &str| format!("attributes:\n  - key: my.key\n    annotations:\n      {annotation}\n");
    for (text, said) in [
        (
            attribute("spanbrigde: {field: model.requested}"),
            "there is no rule in it, and none at my.key: ",
        ),
        (
            "attributes:\n  - key: my.key\n    anotations: {spanbridge: {field: model.requested}}\n".to_owned(),
            "my.key: no such key: anotations",
        ),
        ("file_format: definition/2\n".to_owned(), "there is no rule in it"),
        ("groups:\n  - id: my.group\n".to_owned(), "groups: no such key"),
        (
            attribute("spanbridge: {field: model.requested, codec: jason}"),
            "my.key: no such codec: jason",
        ),
        (
            attribute("spanbridge: {field: model.requested, codecs: json}"),
            "my.key: unknown field `codecs`",
        ),
        (
            attribute("spanbridge: {field: model.requested, when: {kind: [lllm]}}"),
            "my.key: no such kind: lllm",
        ),
        (
            attribute("spanbridge: {field: kind, values: {LLM: lllm}}"),
            "my.key: no such kind: lllm",
        ),
    ] {
        let error = file::rules("own", &text).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn conditions_of_a_file_hold_for_its_rules_unless_they_say_otherwise() {
    let text = "spanbridge: {when: {scope: [acme]}, fields: {tool.name: {kind: [tool]}}}\nattributes:\n  - key: acme.name\n    annotations:\n      spanbridge:\n        - {field: tool.name}\n        - {field: agent.name, rank: inside+1, when: {scope: [], kind: [agent]}}\n        - {field: input, rank: 20}\n";
    let rules = file::rules("own", text).unwrap();
    let said: Vec<(&[&str], usize, u16)> = rules
        .iter()
        .map(|rule| (rule.when.scope, rule.when.kinds.len(), rule.rank))
        .collect();
    assert_eq!(said, [(&["acme"][..], 1, 0), (&[][..], 1, 4001), (&["acme"][..], 0, 20)]);
}

#[test]
fn a_rank_that_nobody_knows_is_refused() {
    let text = "attributes:\n  - key: my.model\n    annotations:\n      spanbridge: {field: model.requested, rank: first}\n";
    let error = file::rules("own", text).unwrap_err().to_string();
    assert_eq!(
        error,
        "my.model: no such rank: first: one of own, corrects, stated, second, inside, name, shape"
    );
}
