//! The actions of coding agents: edits as differences, commands as in a terminal. A table says which arguments have which role.

use maud::{Markup, html};
use serde_json::{Map, Value};
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::words::{self, beginning, line};

/// Arguments with the text that an edit replaces, and with its replacement.
const EDITS: [(&str, &str); 5] = [
    ("old_string", "new_string"),
    ("old_str", "new_str"),
    ("oldText", "newText"),
    ("old_text", "new_text"),
    ("search", "replace"),
];
/// Arguments with a list of edits.
const LISTS: [&str; 2] = ["edits", "replacements"];
/// Arguments with the whole text of a file.
const WHOLE: [&str; 4] = ["file_text", "content", "contents", "new_content"];
/// Arguments with a patch.
const PATCHES: [&str; 3] = ["patch", "diff", "input"];
/// Arguments with the file that is edited.
const PATHS: [&str; 6] = ["file_path", "path", "filePath", "filename", "target_file", "notebook_path"];
/// Arguments with a command.
const COMMANDS: [&str; 4] = ["command", "cmd", "shell_command", "CommandLine"];
/// Programs that run the command after this flag.
const SHELLS: [&str; 4] = ["bash", "sh", "zsh", "/bin/bash"];

/// Maximum bytes of a text on a page.
const MAX_TEXT_BYTES: usize = 24 << 10;
/// Maximum lines for which differences are computed.
const LINES: usize = 2_000;
/// Maximum edits of one call on a page.
const MAX_EDITS: usize = 40;

/// The arguments of a tool call shown as an action; `None`: the tool is not recognised.
pub(crate) fn act(arguments: &Value) -> Option<Markup> {
    let given = arguments.as_object()?;
    edits(given)
        .or_else(|| patch(given))
        .or_else(|| command(given))
        .or_else(|| file(given))
}

fn text<'a>(given: &'a Map<String, Value>, names: &[&'static str]) -> Option<(&'static str, &'a str)> {
    names.iter().find_map(|name| Some((*name, given.get(*name)?.as_str()?)))
}

/// The file, and the arguments that are not shown otherwise.
fn head(given: &Map<String, Value>, shown: &[&str]) -> Markup {
    let path = text(given, &PATHS);
    let others = given.iter().filter(|(name, value)| {
        let is_path = path.is_some_and(|(path, _)| path == name.as_str());
        !is_path && !shown.contains(&name.as_str()) && !value.is_null()
    });
    html! {
        @if let Some((_, path)) = path { div.at.mono { (line(path, 300)) } }
        @for (name, value) in others.take(12) {
            span.faint { (line(name, 40)) ": " (line(&value.as_str().map_or_else(|| value.to_string(), str::to_owned), 120)) " " }
        }
    }
}

fn edits(given: &Map<String, Value>) -> Option<Markup> {
    let pair = |given: &Map<String, Value>| {
        let one = EDITS
            .iter()
            .find(|(old, new)| given.contains_key(*old) && given.contains_key(*new))?;
        let side = |name: &str| given.get(name).and_then(Value::as_str).map(str::to_owned);
        Some((*one, side(one.0)?, side(one.1)?))
    };
    let list = LISTS.iter().find_map(|name| Some((*name, given.get(*name)?.as_array()?)));
    let (shown, pairs): (Vec<&str>, Vec<_>) = match (pair(given), list) {
        (Some((names, old, new)), _) => (vec![names.0, names.1], vec![(old, new)]),
        (None, Some((name, list))) => {
            let pairs = list.iter().filter_map(|one| pair(one.as_object()?)).map(|(_, old, new)| (old, new));
            (vec![name], pairs.collect())
        }
        (None, None) => return None,
    };
    if pairs.is_empty() {
        return None;
    }
    Some(html! {
        div.act {
            (head(given, &shown))
            @for (old, new) in pairs.iter().take(MAX_EDITS) { pre.edit tabindex="0" { (changed(old, new)) } }
            @if pairs.len() > MAX_EDITS { p.faint { "And " (words::many(pairs.len() - MAX_EDITS, "more edit")) "." } }
        }
    })
}

/// The lines of two texts, with removed and added ones marked.
fn changed(old: &str, new: &str) -> Markup {
    let (old_lines, new_lines): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let ops = if old_lines.len() + new_lines.len() > LINES || old.len() + new.len() > MAX_TEXT_BYTES {
        vec![DiffOp::Replace {
            old_index: 0,
            old_len: old_lines.len(),
            new_index: 0,
            new_len: new_lines.len(),
        }]
    } else {
        capture_diff_slices(Algorithm::Myers, &old_lines, &new_lines)
    };
    let lines = |sign: &str, of: &[&str], at: usize, number: usize| {
        let lines = of.iter().skip(at).take(number).map(|line| format!("{sign}{line}\n"));
        beginning(&lines.collect::<String>(), MAX_TEXT_BYTES).0
    };
    html! {
        @for op in ops {
            @match op {
                DiffOp::Equal { old_index, len, .. } => (lines("  ", &old_lines, old_index, len)),
                DiffOp::Delete { old_index, old_len, .. } => del { (lines("- ", &old_lines, old_index, old_len)) },
                DiffOp::Insert { new_index, new_len, .. } => ins { (lines("+ ", &new_lines, new_index, new_len)) },
                DiffOp::Replace { old_index, old_len, new_index, new_len } => {
                    @if old_len > 0 { del { (lines("- ", &old_lines, old_index, old_len)) } }
                    @if new_len > 0 { ins { (lines("+ ", &new_lines, new_index, new_len)) } }
                },
            }
        }
    }
}

/// A patch as it is, with its added and removed lines marked.
fn patch(given: &Map<String, Value>) -> Option<Markup> {
    let (name, patch) = text(given, &PATCHES)?;
    let is_patch = ["*** Begin Patch", "--- ", "diff --git"]
        .iter()
        .any(|word| patch.trim_start().starts_with(word));
    if !is_patch {
        return None;
    }
    let sign = |line: &str| {
        line.chars()
            .next()
            .filter(|sign| matches!(sign, '+' | '-') && !line.starts_with("+++") && !line.starts_with("---"))
    };
    let (shown, more) = beginning(patch, MAX_TEXT_BYTES);
    let lines: Vec<&str> = shown.split_inclusive('\n').collect();
    let runs = lines.chunk_by(|one, other| sign(one) == sign(other)).take(LINES);
    Some(html! {
        div.act {
            (head(given, &[name]))
            pre.edit tabindex="0" {
                @for run in runs {
                    @match run.first().and_then(|line| sign(line)) {
                        Some('+') => ins { (run.concat()) },
                        Some(_) => del { (run.concat()) },
                        None => (run.concat()),
                    }
                }
            }
            @if let Some(all) = more { p.faint { "The first " (words::bytes(MAX_TEXT_BYTES)) " of " (words::bytes(all)) "." } }
        }
    })
}

fn command(given: &Map<String, Value>) -> Option<Markup> {
    let (name, said) = COMMANDS.iter().find_map(|name| Some((*name, given.get(*name)?)))?;
    let command = match said {
        Value::String(command) => command.clone(),
        Value::Array(parts) => {
            let parts: Vec<&str> = parts.iter().map(Value::as_str).collect::<Option<_>>()?;
            match parts.as_slice() {
                [shell, flag, command] if SHELLS.contains(shell) && flag.starts_with('-') => (*command).to_owned(),
                parts => parts.join(" "),
            }
        }
        _ => return None,
    };
    // Commands of an editor are verbs such as `create`; the other arguments say what they act on.
    let is_verb = given.contains_key("path") && !command.contains(char::is_whitespace);
    if is_verb {
        return file(given);
    }
    Some(
        html! { div.act { (head(given, &[name])) pre.term tabindex="0" { span.faint aria-hidden="true" { "$ " } (beginning(&command, MAX_TEXT_BYTES).0) } } },
    )
}

/// A file written as a whole.
fn file(given: &Map<String, Value>) -> Option<Markup> {
    let ((name, whole), _) = text(given, &WHOLE).zip(text(given, &PATHS))?;
    Some(html! { div.act { (head(given, &[name])) pre.edit tabindex="0" { ins { (beginning(whole, MAX_TEXT_BYTES).0) } } } })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_shown_as_what_they_do() {
        for (arguments, wanted) in [
            (
                json!({"file_path": "/a<b>.py", "old_string": "one\ntwo", "new_string": "one\nthree"}),
                Some(&["/a&lt;b&gt;.py", "  one\n", "<del>- two\n</del>", "<ins>+ three\n</ins>"][..]),
            ),
            (
                json!({"path": "a", "edits": [{"oldText": "x", "newText": ""}, {"oldText": "y", "newText": "z"}]}),
                Some(&["<del>- x\n</del>", "<ins>+ z\n</ins>"]),
            ),
            (
                json!({"input": "*** Begin Patch\n*** Update File: a\n-old\n+new\n*** End Patch"}),
                Some(&["<del>-old\n</del>", "<ins>+new\n</ins>"]),
            ),
            (
                json!({"command": "ls -l | wc", "timeout": 5}),
                Some(&["timeout: 5", "</span>ls -l | wc"]),
            ),
            (json!({"command": ["bash", "-lc", "ls <x>"]}), Some(&["</span>ls &lt;x&gt;"])),
            (
                json!({"command": "create", "path": "a", "file_text": "b"}),
                Some(&["command: create", "<ins>b</ins>"]),
            ),
            (json!({"file_path": "a", "content": "b\n"}), Some(&["<ins>b\n</ins>"])),
            (json!({"city": "Paris"}), None),
            (json!({"input": "words"}), None),
            (json!({"command": 5}), None),
            (json!("ls"), None),
        ] {
            let shown = act(&arguments).map(Markup::into_string);
            match (shown, wanted) {
                (Some(shown), Some(wanted)) => wanted
                    .iter()
                    .for_each(|wanted| assert!(shown.contains(wanted), "{wanted}: {shown}")),
                (shown, wanted) => assert_eq!(shown.is_some(), wanted.is_some(), "{arguments}"),
            }
        }
    }
}
