//! What tools of coding agents do, by their arguments: edits, patches, files, commands. Which arguments are which is a table, as tools name
//! them.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// Arguments with the text that an edit replaces, and with what it puts there.
const EDITS: [(&str, &str); 6] = [
    ("old_string", "new_string"),
    ("old_str", "new_str"),
    ("oldString", "newString"),
    ("oldText", "newText"),
    ("old_text", "new_text"),
    ("search", "replace"),
];
/// Arguments with a list of edits.
const LISTS: [&str; 2] = ["edits", "replacements"];
/// Arguments with the whole text of a file, or of what is added to it.
const WHOLE: [&str; 7] = [
    "file_text",
    "content",
    "contents",
    "new_content",
    "new_source",
    "insert_text",
    "code_edit",
];
/// Arguments with a patch.
const PATCHES: [&str; 4] = ["patch", "diff", "input", "patchText"];
/// Arguments with the file that is edited.
const PATHS: [&str; 6] = ["file_path", "path", "filePath", "filename", "target_file", "notebook_path"];
/// Arguments with a command.
const COMMANDS: [&str; 4] = ["command", "cmd", "shell_command", "CommandLine"];
/// Programs that run the command behind this flag.
const SHELLS: [&str; 4] = ["bash", "sh", "zsh", "/bin/bash"];
/// How patches begin.
const BEGIN_PATCH: &str = "*** Begin Patch";
const PATCH_HEADS: [&str; 3] = [BEGIN_PATCH, "--- ", "diff --git"];

/// What a call does.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Act<'a> {
    /// The file.
    pub(crate) path: Option<&'a str>,
    /// What is done.
    pub(crate) what: What<'a>,
    /// The other arguments.
    pub(crate) others: Vec<(&'a str, &'a Value)>,
}

/// What is done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum What<'a> {
    /// Texts of a file are replaced, each by another.
    Edits(Vec<(&'a str, &'a str)>),
    /// A patch is applied.
    Patch(Cow<'a, str>),
    /// A command is run.
    Command(Cow<'a, str>),
    /// A file is written, or a text is added to it.
    File(&'a str),
}

impl<'a> Act<'a> {
    /// By the arguments of a call; `None`: they are another tool's.
    pub(crate) fn of(arguments: &'a Value) -> Option<Self> {
        let given = arguments.as_object()?;
        let path = text(given, &PATHS);
        let (shown, what) = edits(given)
            .or_else(|| patch(given))
            .or_else(|| command(given))
            .or_else(|| file(given))?;
        let is_shown = |name: &str| shown.contains(&name) || path.is_some_and(|(path, _)| path == name);
        let others = given.iter().filter(|(name, value)| !is_shown(name) && !value.is_null());
        Some(Self {
            path: path.map(|(_, path)| path),
            what,
            others: others.map(|(name, value)| (name.as_str(), value)).collect(),
        })
    }
}

type Found<'a> = Option<(Vec<&'static str>, What<'a>)>;

fn text<'a>(given: &'a Map<String, Value>, names: &[&'static str]) -> Option<(&'static str, &'a str)> {
    names.iter().find_map(|name| Some((*name, given.get(*name)?.as_str()?)))
}

/// The names of two members, and their texts.
type Pair<'a> = ((&'static str, &'static str), (&'a str, &'a str));

fn pair(given: &Map<String, Value>) -> Option<Pair<'_>> {
    let has = |names: &&(&str, &str)| given.contains_key(names.0) && given.contains_key(names.1);
    let names = EDITS.iter().find(has)?;
    Some((*names, (given.get(names.0)?.as_str()?, given.get(names.1)?.as_str()?)))
}

fn edits(given: &Map<String, Value>) -> Found<'_> {
    if let Some((names, edit)) = pair(given) {
        return Some((vec![names.0, names.1], What::Edits(vec![edit])));
    }
    let (name, list) = LISTS.iter().find_map(|name| Some((*name, given.get(*name)?.as_array()?)))?;
    let edits: Vec<_> = list.iter().filter_map(|one| pair(one.as_object()?)).map(|(_, edit)| edit).collect();
    (!edits.is_empty()).then(|| (vec![name], What::Edits(edits)))
}

fn patch(given: &Map<String, Value>) -> Found<'_> {
    let (name, patch) = text(given, &PATCHES)?;
    let is_patch = PATCH_HEADS.iter().any(|word| patch.trim_start().starts_with(word));
    is_patch.then(|| (vec![name], What::Patch(patch.into())))
}

fn command(given: &Map<String, Value>) -> Found<'_> {
    let (name, said) = COMMANDS.iter().find_map(|name| Some((*name, given.get(*name)?)))?;
    let command = match said {
        Value::String(command) => Cow::Borrowed(command.as_str()),
        Value::Array(parts) => {
            let parts: Vec<&str> = parts.iter().map(Value::as_str).collect::<Option<_>>()?;
            match parts.as_slice() {
                [shell, flag, command] if SHELLS.contains(shell) && flag.starts_with('-') => Cow::Borrowed(*command),
                parts => parts.join(" ").into(),
            }
        }
        _ => return None,
    };
    // An editor has commands that are its verbs, as `create`; what they are about is beside them.
    let is_verb = given.contains_key("path") && !command.contains(char::is_whitespace);
    if is_verb {
        return file(given);
    }
    let begin = command.starts_with("apply_patch").then(|| command.find(BEGIN_PATCH)).flatten();
    let what = match (begin, command) {
        (Some(at), Cow::Borrowed(command)) => What::Patch(command.get(at..).unwrap_or_default().into()),
        (Some(at), Cow::Owned(command)) => What::Patch(command.get(at..).unwrap_or_default().to_owned().into()),
        (None, command) => What::Command(command),
    };
    Some((vec![name], what))
}

fn file(given: &Map<String, Value>) -> Found<'_> {
    let ((name, whole), _) = text(given, &WHOLE).zip(text(given, &PATHS))?;
    Some((vec![name], What::File(whole)))
}
