//! The files that a run changed, by the arguments of its tools.

use super::acts::{Act, What};
use crate::hash::Keyed;
use crate::operation::Kind;
use crate::run::{Run, StepId};

/// Words before the name of a file in a patch.
const CHANGED: [&str; 5] = ["*** Update File: ", "*** Add File: ", "*** Move to: ", "*** Delete File: ", "+++ "];

/// A file that was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Changed {
    /// Its path, as the tools were given it.
    pub(crate) path: String,
    /// How often.
    pub(crate) edits: usize,
    /// Lines that came, and that went.
    pub(crate) added: usize,
    pub(crate) removed: usize,
    /// The last step that changed it.
    pub(crate) last: StepId,
}

/// The files, in the order in which they were changed first. What failed changed nothing.
pub(crate) fn changed(run: &Run) -> Vec<Changed> {
    let mut files: Keyed<String, Changed> = Keyed::default();
    for (last, step) in run.steps.enumerate() {
        let operation = &step.operation;
        let arguments = operation.tool.as_ref().and_then(|tool| tool.arguments.as_ref());
        if operation.kind != Kind::Tool || operation.failure.is_some() {
            continue;
        }
        let act = arguments.and_then(Act::of);
        for (path, added, removed) in act.as_ref().map(of_act).unwrap_or_default() {
            let new = || Changed {
                path: path.to_owned(),
                edits: 0,
                added: 0,
                removed: 0,
                last,
            };
            let file = files.get_or_insert_with(path, new);
            file.edits += 1;
            (file.added, file.removed, file.last) = (file.added + added, file.removed + removed, last);
        }
    }
    files.into_list().into_iter().map(|(_, file)| file).collect()
}

/// The files that an act changes, with the lines that come and go.
fn of_act<'a>(act: &'a Act<'_>) -> Vec<(&'a str, usize, usize)> {
    match (&act.what, act.path) {
        (What::Edits(edits), Some(path)) => {
            let sum = |(all_added, all_removed), (old, new): &(&str, &str)| {
                let (added, removed) = lines(old, new);
                (all_added + added, all_removed + removed)
            };
            let (added, removed) = edits.iter().fold((0, 0), sum);
            vec![(path, added, removed)]
        }
        (What::File(whole), Some(path)) => vec![(path, whole.lines().count(), 0)],
        (What::Patch(patch), path) => of_patch(patch, path),
        _ => Vec::new(),
    }
}

/// The lines that an edit adds and removes: those between the first and the last that differ.
fn lines(old: &str, new: &str) -> (usize, usize) {
    let (mut old, mut new) = (old.lines(), new.lines());
    let mut ahead = (old.clone(), new.clone());
    while let (Some(one), Some(other)) = (ahead.0.next(), ahead.1.next()) {
        if one != other {
            break;
        }
        let _ = (old.next(), new.next());
    }
    let mut back = (old.clone(), new.clone());
    while let (Some(one), Some(other)) = (back.0.next_back(), back.1.next_back()) {
        if one != other {
            break;
        }
        let _ = (old.next_back(), new.next_back());
    }
    (new.count(), old.count())
}

fn of_patch<'a>(patch: &'a str, path: Option<&'a str>) -> Vec<(&'a str, usize, usize)> {
    let mut files: Vec<(&str, usize, usize)> = path.map(|path| (path, 0, 0)).into_iter().collect();
    for line in patch.lines() {
        let named = CHANGED.iter().find_map(|word| line.strip_prefix(word));
        if let Some(name) = named.map(str::trim) {
            // Git writes `b/` before the new name.
            let name = if line.starts_with('+') {
                name.strip_prefix("b/").unwrap_or(name)
            } else {
                name
            };
            if path.is_none() && name != "/dev/null" {
                files.push((name, 0, 0));
            }
        } else if let Some((_, added, removed)) = files.last_mut() {
            *added += usize::from(line.starts_with('+'));
            *removed += usize::from(line.starts_with('-') && !line.starts_with("--- "));
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Arguments of a call, and the path, lines added and lines removed of each file.
    type Case<'a> = (Value, &'a [(&'a str, usize, usize)]);

    #[test]
    fn arguments_tell_which_files_change() {
        let patch = "*** Begin Patch\n*** Update File: a.rs\n@@\n-old\n+new\n+more\n*** Add File: b/c.rs\n+one\n*** End Patch";
        let diff = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-1\n+2\n";
        let cases: &[Case<'_>] = &[
            (
                json!({"file_path": "/a.py", "old_string": "one\ntwo\nfour", "new_string": "one\nthree\n3\nfour"}),
                &[("/a.py", 2, 1)],
            ),
            (json!({"filePath": "a", "oldString": "x", "newString": ""}), &[("a", 0, 1)]),
            (
                json!({"path": "a", "edits": [{"oldText": "x", "newText": "y"}, {"oldText": "y", "newText": "z\nz"}]}),
                &[("a", 3, 2)],
            ),
            (json!({"file_path": "a", "content": "b\nc\n"}), &[("a", 2, 0)]),
            (json!({"input": patch}), &[("a.rs", 2, 1), ("b/c.rs", 1, 0)]),
            (json!({"command": ["apply_patch", patch]}), &[("a.rs", 2, 1), ("b/c.rs", 1, 0)]),
            (json!({"diff": diff}), &[("x.py", 1, 1)]),
            (json!({"command": "cat a"}), &[]),
            (json!({"path": "a"}), &[]),
        ];
        for (arguments, wanted) in cases {
            let found = Act::of(arguments);
            let found = found.as_ref().map(of_act).unwrap_or_default();
            assert_eq!(&found, wanted, "{arguments}");
        }
    }
}
