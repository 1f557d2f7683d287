//! The direction of dependencies, as data: a module uses only lower floors, and what lies below floor 5 is pure.
//!
//! The checker is a function from a file's text to its violations, so it is itself tested on texts that break each rule.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

mod budget;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The floor of every module at the crate's root. A module that is not listed is a violation.
const FLOOR: &[(&str, u8)] = &[
    ("hash", 0),
    ("json_tokens", 0),
    ("withheld", 0),
    ("span", 1),
    ("operation", 1),
    ("trace", 2),
    ("dialect", 2),
    ("document", 2),
    ("otlp", 2),
    ("events", 2),
    ("forms", 2),
    ("run", 3),
    ("transcript", 3),
    ("blocks", 3),
    ("formats", 4),
    ("documents", 4),
    ("access", 5),
    ("client", 5),
    ("dataset", 5),
    ("redact", 5),
    ("search", 5),
    ("layer", 5),
    ("sessions", 5),
    ("store", 5),
    ("view", 5),
    ("receiver", 6),
    ("forward", 6),
    ("web", 6),
    ("pages", 6),
    ("server", 7),
    ("cli", 7),
];

/// (user, used): modules of one floor that may be used nevertheless, each with its reason.
const SIDEWAYS: &[(&str, &str, &str)] = &[
    ("cli", "server", "the command `serve` starts the server"),
    ("documents", "formats", "it makes documents of their types"),
    ("dataset", "redact", "one meaning of `*` and `?`; what was redacted is counted"),
    ("dataset", "view", "tokens and cost of a run are summed in one place"),
    ("search", "store", "it is fed from the log"),
    ("transcript", "run", "it lays out what a run says"),
    ("pages", "forward", "the page of operations shows its destinations"),
    ("pages", "web", "they answer on its port, from the runs that it keeps"),
    ("events", "dialect", "what happened becomes attributes"),
    ("dialect", "trace", "a value that its rule cannot read is a finding"),
];

/// The folder in `formats/` that is no format: what the readers of all of them share.
const SHARED_BY_FORMATS: &str = "back";

/// Below this floor: no async runtime, no clock, no disk, no network, no process environment, no global state.
const PURE_BELOW: u8 = 5;

/// Files below it that make something once for all, each with its reason.
const MADE_ONCE: &[(&str, &str)] = &[
    (
        "dialect/built_in.rs",
        "the registry of the generated tables: they are constants, and the plans that it keeps change no reading",
    ),
    ("forms/built_in.rs", "the tables of semconv/forms/, read from constants"),
    ("forms/database.rs", "the same of databases"),
    ("forms/spans.rs", "the same of exported spans"),
];

const IMPURE_PATHS: &[&[&str]] = &[
    &["tokio"],
    &["std", "fs"],
    &["std", "env"],
    &["std", "net"],
    &["std", "process"],
    &["std", "thread"],
    &["std", "time", "Instant"],
    &["std", "time", "SystemTime"],
];

/// The last part of a path that reads a clock, whatever stands before it.
const CLOCKS: &[&str] = &["now_utc", "now_local"];

/// Beginnings of attribute keys. They stand in `semconv/`; in code only where dialects are read and written.
const KEYS: &[&str] = &[
    "gen_ai.",
    "llm.",
    "openinference.",
    "traceloop.",
    "langfuse.",
    "langsmith.",
    "mlflow.",
    "spring.ai.",
    "koog.",
    "genkit:",
    "gcp.vertex.",
    "pydantic_ai.",
    "retrieval.documents",
    "reranker.",
    "embedding.",
    "tool_call.",
    "input.value",
    "output.value",
    "ai.prompt",
    "ai.response",
    "ai.usage",
    "ai.model",
    "ai.toolCall",
    "ai.operationId",
    "ai.telemetry",
];

/// Where attribute keys may stand.
const KEYS_ALLOWED: &[&str] = &[
    // The format itself has these aliases of its fields.
    "dialect/",
    "layer/",
    "layer.rs",
    "formats/contextforge/table.rs",
    // Names of fields, two of which begin like keys.
    "operation/fields.rs",
    // What other tools export in fields of their own is in the words of their own exporters.
    "span/json/other_forms/",
    "span/json/other_forms.rs",
];

#[test]
fn modules_use_only_lower_floors() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let formats: Vec<String> = std::fs::read_dir(root.join("formats"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .filter(|folder| folder != SHARED_BY_FORMATS)
        .collect();
    assert!(formats.len() >= 5, "formats found: {formats:?}");
    let violations: Vec<String> = sources(&root).iter().flat_map(|(name, text)| check(name, text, &formats)).collect();
    assert!(violations.is_empty(), "{} violations:\n{}", violations.len(), violations.join("\n"));
}

/// Circles of files that use one another: this many are left. The number only falls.
const CIRCLES: usize = 1;

#[test]
fn files_use_one_another_in_few_circles() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let circles = circles(&sources(&root));
    let list: Vec<String> = circles.iter().map(|circle| circle.join(", ")).collect();
    assert!(circles.len() <= CIRCLES, "{} circles of files:\n{}", circles.len(), list.join("\n"));
}

/// The files below `src` that are no tests, by their paths, with their texts.
fn sources(root: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    rust_files(root, &mut files);
    assert!(files.len() >= 20, "only {} files found below src", files.len());
    let texts: Vec<(String, String)> = files
        .iter()
        .map(|file| {
            let name = file.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
            (name, std::fs::read_to_string(file).unwrap())
        })
        .collect();
    let tests: Vec<String> = texts.iter().flat_map(|(name, text)| test_modules(name, text)).collect();
    texts
        .into_iter()
        .filter(|(name, _)| !tests.iter().any(|test| belongs(name, test)))
        .collect()
}

/// The modules that reach each other through what they use, more than one in a circle. The declaration of a module is no use.
fn circles(texts: &[(String, String)]) -> Vec<Vec<String>> {
    let modules: BTreeMap<Vec<String>, &str> = texts.iter().map(|(name, text)| (module_of(name), text.as_str())).collect();
    let uses: BTreeMap<&[String], Vec<&[String]>> = modules
        .iter()
        .filter(|(module, _)| !module.is_empty())
        .map(|(module, text)| (module.as_slice(), used_modules(module, text, &modules)))
        .collect();
    let reached: BTreeMap<&[String], BTreeSet<&[String]>> = uses
        .keys()
        .map(|module| {
            let (mut reached, mut open) = (BTreeSet::new(), vec![*module]);
            while let Some(next) = open.pop() {
                open.extend(uses.get(next).into_iter().flatten().filter(|used| reached.insert(**used)));
            }
            (*module, reached)
        })
        .collect();
    let circle = |module: &[String]| -> Vec<&[String]> {
        let back = |other: &&&[String]| reached.get(**other).is_some_and(|reached| reached.contains(module));
        reached[module].iter().filter(back).copied().collect()
    };
    let circles: BTreeSet<Vec<&[String]>> = reached
        .keys()
        .map(|module| circle(module))
        .filter(|circle| circle.len() > 1)
        .collect();
    let named = circles
        .into_iter()
        .map(|circle| circle.into_iter().map(|module| module.join("::")).collect());
    named.collect()
}

/// The code with `pub` for `pub(super)` and the like: they name a module that is not used.
fn without_visibility(code: &str) -> String {
    let mut parts = code.split("pub(");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str("pub");
        out.push_str(part.split_once(')').map_or(part, |(_, rest)| rest));
    }
    out
}

/// The modules of the crate that a module names, itself and the root left out.
fn used_modules<'m>(module: &[String], text: &str, modules: &'m BTreeMap<Vec<String>, &str>) -> Vec<&'m [String]> {
    let mut used = BTreeSet::new();
    for (_, path) in paths(&without_visibility(&without_tests(&lex(text).0))) {
        let below = || {
            let child = [module, &path[..1]].concat();
            (path.len() > 1 && modules.contains_key(&child)).then(|| [module, &path].concat())
        };
        let Some(target) = absolute(module, &path).or_else(below) else {
            continue;
        };
        let known = (1..=target.len()).rev().find_map(|length| modules.get_key_value(&target[..length]));
        used.extend(known.map(|(known, _)| known.as_slice()).filter(|known| *known != module));
    }
    used.into_iter().collect()
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "generated") {
                rust_files(&path, files);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
}

/// Whether a file is this module or stands below it.
fn belongs(file: &str, module: &str) -> bool {
    file.strip_prefix(module).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

/// The modules that `#[cfg(test)] mod name;` in this file declares, as paths without an extension.
fn test_modules(name: &str, text: &str) -> Vec<String> {
    let (code, _) = lex(text);
    let module = module_of(name).join("/");
    let folder = if module.is_empty() { String::new() } else { module + "/" };
    let after_cfg = code.split("#[cfg(test)]").skip(1);
    after_cfg
        .filter_map(|rest| {
            let declared = rest.split([';', '{']).next()?;
            let module = declared.trim().rsplit_once("mod ")?.1.trim();
            let is_file = rest.as_bytes().get(declared.len()) == Some(&b';') && module.chars().all(|c| c.is_alphanumeric() || c == '_');
            is_file.then(|| format!("{folder}{module}"))
        })
        .collect()
}

/// What a file breaks. `name` is its path below `src`.
fn check(name: &str, text: &str, formats: &[String]) -> Vec<String> {
    let mut violations = Vec::new();
    let module = module_of(name);
    let Some(room) = module.first().map(String::as_str) else {
        return violations; // lib.rs and main.rs stand above all floors
    };
    let mut say = |line: usize, what: String| violations.push(format!("src/{name}:{line}: {what}"));
    let Some(floor) = floor(room) else {
        say(1, format!("module {room} has no floor in tests/floors.rs"));
        return violations;
    };
    let (code, strings) = lex(text);
    let code = without_tests(&code);
    for (line, path) in paths(&code) {
        if let Some(target) = absolute(&module, &path) {
            if let Some(used) = target.first() {
                match self::floor(used) {
                    Some(other)
                        if used != room
                            && other >= floor
                            && !SIDEWAYS.iter().any(|(user, has, _)| *user == room && *has == used.as_str()) =>
                    {
                        say(line, format!("{room} (floor {floor}) uses {used} (floor {other})"));
                    }
                    _ => {}
                }
            }
            if room == "formats"
                && let (Some(own), [first, other, ..]) = (module.get(1), target.as_slice())
                && first == "formats"
                && own != other
                && formats.contains(own)
                && formats.contains(other)
            {
                say(line, format!("format {own} uses format {other}"));
            }
            continue;
        }
        if floor < PURE_BELOW {
            let parts: Vec<&str> = path.iter().map(String::as_str).collect();
            for impure in IMPURE_PATHS {
                let whole = parts.starts_with(impure);
                let door = parts.len() >= 2 && impure.starts_with(&parts); // `use std::time;`
                if whole || door {
                    say(line, format!("{room} (floor {floor}) uses {}", parts.join("::")));
                    break;
                }
            }
            if parts.last().is_some_and(|last| CLOCKS.contains(last)) {
                say(line, format!("{room} (floor {floor}) reads a clock: {}", parts.join("::")));
            }
        }
    }
    if floor < PURE_BELOW && !MADE_ONCE.iter().any(|(file, _)| name == *file) {
        for (number, line) in code.lines().enumerate() {
            let holds_state = ["Mutex<", "RwLock<", "Atomic", "Cell<", "OnceLock<", "LazyLock<"]
                .iter()
                .any(|cell| line.contains(cell));
            let is_static = line.split_whitespace().any(|word| word == "static");
            if line.contains("static mut ") || line.contains("thread_local!") || (is_static && holds_state) {
                say(number + 1, format!("{room} (floor {floor}) has global state"));
            }
        }
    }
    if !KEYS_ALLOWED.iter().any(|allowed| name.starts_with(allowed)) {
        let kept: Vec<&str> = code.lines().collect();
        for (line, string) in strings {
            let in_tests = kept.get(line - 1).is_some_and(|line| line.starts_with(BLANKED));
            if !in_tests && KEYS.iter().any(|key| string.starts_with(key)) {
                say(line, format!("the attribute key {string:?} stands outside the dialects"));
            }
        }
    }
    violations.dedup();
    violations
}

fn floor(module: &str) -> Option<u8> {
    FLOOR.iter().find(|(name, _)| *name == module).map(|(_, floor)| *floor)
}

/// `formats/synth/mod.rs` is the module formats::synth; `lib.rs` and `main.rs` are the root.
fn module_of(name: &str) -> Vec<String> {
    let mut parts: Vec<String> = name.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        parts.pop();
    }
    parts
}

/// A path of this crate, from its root; `None` for paths of other crates and of local names.
fn absolute(module: &[String], path: &[String]) -> Option<Vec<String>> {
    match path.first()?.as_str() {
        "crate" | "spanbridge" => Some(path[1..].to_vec()),
        "self" => Some([module, &path[1..]].concat()),
        "super" => {
            let ups = path.iter().take_while(|part| *part == "super").count();
            Some([&module[..module.len().saturating_sub(ups)], &path[ups..]].concat())
        }
        _ => None,
    }
}

/// Code with comments and the insides of strings blanked, lines kept; and the strings with their lines.
fn lex(text: &str) -> (String, Vec<(usize, String)>) {
    let chars: Vec<char> = text.chars().collect();
    let (mut code, mut strings, mut at, mut line) = (String::new(), Vec::new(), 0, 1);
    let get = |at: usize| chars.get(at).copied().unwrap_or('\0');
    while at < chars.len() {
        let here = get(at);
        if here == '/' && get(at + 1) == '/' {
            while at < chars.len() && get(at) != '\n' {
                at += 1;
            }
        } else if here == '/' && get(at + 1) == '*' {
            let mut depth = 0;
            while at < chars.len() {
                if get(at) == '/' && get(at + 1) == '*' {
                    depth += 1;
                    at += 1;
                } else if get(at) == '*' && get(at + 1) == '/' {
                    depth -= 1;
                    at += 1;
                } else if get(at) == '\n' {
                    code.push('\n');
                    line += 1;
                }
                at += 1;
                if depth == 0 {
                    break;
                }
            }
        } else if here == '\'' {
            // A character, or a lifetime.
            if get(at + 1) == '\\' {
                at += 3;
                while at < chars.len() && get(at) != '\'' {
                    at += 1;
                }
                at += 1;
            } else if get(at + 2) == '\'' {
                at += 3;
            } else {
                code.push(here);
                at += 1;
            }
        } else if here == '"' || (here == 'r' && ends_word(&code) && is_raw(&chars[at..])) {
            let start = line;
            let mut string = String::new();
            let hashes = if here == 'r' {
                chars[at + 1..].iter().take_while(|c| **c == '#').count()
            } else {
                0
            };
            at += if here == 'r' { hashes + 2 } else { 1 };
            while at < chars.len() {
                let next = get(at);
                if here == '"' && next == '\\' {
                    if get(at + 1) == '\n' {
                        line += 1;
                        code.push('\n');
                    } else {
                        string.push(get(at + 1));
                    }
                    at += 2;
                    continue;
                }
                if next == '"' && (0..hashes).all(|n| get(at + 1 + n) == '#') {
                    at += 1 + hashes;
                    break;
                }
                if next == '\n' {
                    line += 1;
                    code.push('\n');
                }
                string.push(next);
                at += 1;
            }
            code.push_str("\"\"");
            strings.push((start, string));
        } else {
            if here == '\n' {
                line += 1;
            }
            code.push(here);
            at += 1;
        }
    }
    (code, strings)
}

fn ends_word(code: &str) -> bool {
    !code.chars().next_back().is_some_and(|last| last.is_alphanumeric() || last == '_')
}

fn is_raw(rest: &[char]) -> bool {
    let hashes = rest.iter().skip(1).take_while(|c| **c == '#').count();
    rest.get(1 + hashes) == Some(&'"')
}

/// What stands at the head of a line that belongs to a test module.
const BLANKED: char = '\u{1}';

/// The code without what `#[cfg(test)]` guards; lines keep their numbers.
fn without_tests(code: &str) -> String {
    let mut out = code.to_owned();
    while let Some(start) = out.find("#[cfg(test)]") {
        let bytes = out.as_bytes();
        let (mut end, mut depth) = (start, 0usize);
        while end < bytes.len() {
            match bytes[end] {
                b'{' => depth += 1,
                b'}' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        break;
                    }
                }
                b';' if depth == 0 => break,
                _ => {}
            }
            end += 1;
        }
        let end = (end + 1).min(bytes.len());
        let blank: String = std::iter::once(BLANKED)
            .chain(out[start..end].chars().filter(|c| *c == '\n').flat_map(|c| [c, BLANKED]))
            .collect();
        out.replace_range(start..end, &blank);
    }
    out
}

/// Every path in the code, with `{..}` of use declarations taken apart.
fn paths(code: &str) -> Vec<(usize, Vec<String>)> {
    let chars: Vec<char> = code.chars().collect();
    let (mut found, mut at, mut line) = (Vec::new(), 0, 1);
    while at < chars.len() {
        let here = chars[at];
        if here == '\n' {
            line += 1;
            at += 1;
        } else if here.is_alphabetic() || here == '_' {
            let start = line;
            let mut leaves = Vec::new();
            path(&chars, &mut at, &mut line, &[], &mut leaves);
            found.extend(leaves.into_iter().map(|leaf| (start, leaf)));
        } else {
            at += 1;
        }
    }
    found
}

fn path(chars: &[char], at: &mut usize, line: &mut usize, before: &[String], leaves: &mut Vec<Vec<String>>) {
    let mut parts = before.to_vec();
    loop {
        let word: String = chars[*at..].iter().take_while(|c| c.is_alphanumeric() || **c == '_').collect();
        *at += word.chars().count();
        if word.is_empty() {
            if chars.get(*at) == Some(&'{') {
                *at += 1;
                while *at < chars.len() && chars[*at] != '}' {
                    let next = chars[*at];
                    if next.is_alphabetic() || next == '_' || next == '{' {
                        path(chars, at, line, &parts, leaves);
                        let rest: String = chars[*at..].iter().take(4).collect();
                        if rest.starts_with(" as ") {
                            *at += 4;
                            *at += chars[*at..].iter().take_while(|c| c.is_alphanumeric() || **c == '_').count();
                        }
                    } else {
                        if next == '\n' {
                            *line += 1;
                        }
                        *at += 1;
                    }
                }
                *at += 1;
                return;
            }
            break;
        }
        if !(word == "self" && !before.is_empty() && parts.len() == before.len()) {
            parts.push(word);
        }
        if chars.get(*at) == Some(&':') && chars.get(*at + 1) == Some(&':') {
            *at += 2;
        } else {
            break;
        }
    }
    leaves.push(parts);
}

mod the_checker {
    use super::check;

    fn formats() -> Vec<String> {
        vec!["reflex".to_owned(), "synth".to_owned()]
    }

    #[track_caller]
    fn says(name: &str, text: &str, part: &str) {
        let violations = check(name, text, &formats());
        assert!(
            violations.len() == 1 && violations[0].contains(part),
            "{name}: {text:?} gives {violations:?}, not one with {part:?}"
        );
    }

    #[track_caller]
    fn passes(name: &str, text: &str) {
        assert_eq!(check(name, text, &formats()), Vec::<String>::new(), "{name}: {text:?}");
    }

    #[test]
    fn refuses_a_higher_floor() {
        says(
            "span/mod.rs",
            "use crate::run::Run;",
            "src/span/mod.rs:1: span (floor 1) uses run (floor 3)",
        );
        says(
            "run/mod.rs",
            "\n\nuse crate::{span::Span, formats::{Loss, by_id}};\n",
            "run (floor 3) uses formats",
        );
    }

    #[test]
    fn refuses_a_higher_floor_without_use() {
        says("operation/mod.rs", "fn f() -> crate::store::Error { g() }", "uses store (floor 5)");
        says("dialect/read.rs", "fn f() { super::super::formats::by_id(\"x\"); }", "uses formats");
    }

    #[test]
    fn refuses_the_same_floor() {
        says("dialect/read.rs", "use crate::otlp::scan;", "dialect (floor 2) uses otlp (floor 2)");
    }

    #[test]
    fn refuses_a_module_without_a_floor() {
        says("attic/mod.rs", "", "module attic has no floor");
    }

    #[test]
    fn refuses_formats_that_use_one_another() {
        says(
            "formats/synth/assemble.rs",
            "use crate::formats::reflex::Node;",
            "format synth uses format reflex",
        );
        says(
            "formats/synth/assemble.rs",
            "use super::super::reflex::Node;",
            "format synth uses format reflex",
        );
        passes(
            "formats/synth/assemble.rs",
            "use crate::formats::{Format, Loss, synth::document::Part};",
        );
        passes("formats/mod.rs", "use reflex::Reflex; use self::synth::Synth;");
    }

    #[test]
    fn refuses_the_world_below_floor_five() {
        says("run/order.rs", "use tokio::sync::Mutex;", "uses tokio");
        says("run/order.rs", "use std::{collections::BTreeMap, fs};", "uses std::fs");
        says("run/order.rs", "fn f() { std::env::var(\"A\"); }", "uses std::env");
        says("run/order.rs", "use std::time::{Duration, Instant};", "uses std::time::Instant");
        says("run/order.rs", "use std::time;", "uses std::time");
        says("run/order.rs", "let t = OffsetDateTime::now_utc();", "reads a clock");
        says("run/order.rs", "static mut COUNT: u8 = 0;", "global state");
        says("run/order.rs", "static SEEN: Mutex<u8> = Mutex::new(0);", "global state");
        says(
            "run/order.rs",
            "pub(super) static SEEN: OnceLock<u8> = OnceLock::new();",
            "global state",
        );
        says("run/order.rs", "static SEEN: std::sync::LazyLock<u8> = f();", "global state");
        passes(
            "operation/recorded.rs",
            "use std::sync::OnceLock; struct Held { opened: OnceLock<&'static str> }",
        );
        passes("run/order.rs", "use std::time::Duration; static TABLE: [u8; 1] = [1];");
        passes("store/log.rs", "use std::fs; use std::time::Instant; use tokio::sync::mpsc;");
    }

    #[test]
    fn refuses_attribute_keys_outside_the_dialects() {
        says(
            "formats/synth/assemble.rs",
            "let a = map.get(\"gen_ai.usage.input_tokens\");",
            "attribute key",
        );
        says("run/order.rs", "let a = r#\"llm.model_name\"#;", "attribute key");
        passes("dialect/read.rs", "let a = \"gen_ai.usage.input_tokens\";");
        passes("formats/contextforge/table.rs", "#[serde(alias = \"llm.model_name\")]");
    }

    #[test]
    fn finds_circles() {
        let circles = |files: &[(&str, &str)]| {
            let texts: Vec<(String, String)> = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
            super::circles(&texts)
        };
        let model = ("run/model.rs", "pub struct Run; pub(super) fn f() {} pub(in crate::run) fn g() {}");
        let parent = ("run/mod.rs", "mod model; mod order; pub use model::Run; fn f() { order::sort() }");
        assert_eq!(
            circles(&[model, parent, ("run/order.rs", "use super::model::Run;")]),
            Vec::<Vec<String>>::new()
        );
        assert_eq!(
            circles(&[model, parent, ("run/order.rs", "use crate::run::Run;")]),
            [["run", "run::order"]]
        );
        let test = "#[cfg(test)]\nmod tests {\n use crate::run::Run;\n}";
        assert_eq!(circles(&[model, parent, ("run/order.rs", test)]), Vec::<Vec<String>>::new());
        let three = [
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "use crate::c::C;"),
            ("c.rs", "use super::a::A;"),
            ("lib.rs", "mod a;"),
        ];
        assert_eq!(circles(&three), [["a", "b", "c"]]);
    }

    #[test]
    fn knows_the_files_of_test_modules() {
        assert!(super::belongs("formats/testing/samples.rs", "formats/testing") && super::belongs("formats/testing.rs", "formats/testing"));
        assert!(!super::belongs("formats/testing_blocks.rs", "formats/testing"));
        assert_eq!(
            super::test_modules(
                "formats/synth/mod.rs",
                "#[cfg(test)]\nmod tests;\nmod document;\n#[cfg(test)]\npub(crate) mod testing;"
            ),
            ["formats/synth/tests", "formats/synth/testing"]
        );
        assert_eq!(
            super::test_modules("lib.rs", "#[cfg(test)]\nmod tests { mod a; }\nmod b;"),
            Vec::<String>::new()
        );
        assert_eq!(
            super::test_modules("trace/tree.rs", "// #[cfg(test)] mod x;\n#[cfg(test)] mod y;"),
            ["trace/tree/y"]
        );
    }

    #[test]
    fn looks_into_neither_comments_nor_tests_but_behind_them() {
        passes(
            "span/mod.rs",
            "//! [`crate::run::Run`] \"llm.x\"\n/* use tokio::x; /* \"gen_ai.a\" */ */\nlet a = '\"'; let b = \"// use std::fs\";",
        );
        passes(
            "span/mod.rs",
            "#[cfg(test)]\nmod tests {\n use crate::run::Run;\n fn f() { \"llm.model_name\"; }\n}\n",
        );
        says(
            "span/mod.rs",
            "#[cfg(test)]\nmod tests {\n use crate::run::Run;\n}\nfn f<'a>() { \"llm.model_name\"; }\n",
            "src/span/mod.rs:5: the attribute key",
        );
        says(
            "span/mod.rs",
            "let a = '\\''; let b = \"\\\"\";\nuse crate::run::Run;",
            "src/span/mod.rs:2",
        );
    }
}
