//! What coding agents do: edits as differences, commands as in a terminal.

use maud::{Markup, html};
use serde_json::Value;
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::words::{self, beginning, line};
use crate::view::acts::{Act, What};

/// Maximum bytes of a text on a page.
const MAX_TEXT_BYTES: usize = 24 << 10;
/// Maximum lines for which differences are computed.
const LINES: usize = 2_000;
/// Maximum edits of one call on a page.
const MAX_EDITS: usize = 40;

/// The arguments of a tool call shown as an action; `None`: the tool is not recognised.
pub(crate) fn act(arguments: &Value) -> Option<Markup> {
    let act = Act::of(arguments)?;
    let others = act.others.iter().take(12);
    Some(html! {
        div.act {
            @if let Some(path) = act.path { div.at.mono { (line(path, 300)) } }
            @for (name, value) in others {
                span.faint { (line(name, 40)) ": " (line(&value.as_str().map_or_else(|| value.to_string(), str::to_owned), 120)) " " }
            }
            @match &act.what {
                What::Edits(edits) => {
                    @for (old, new) in edits.iter().take(MAX_EDITS) { pre.edit tabindex="0" { (changed(old, new)) } }
                    @if edits.len() > MAX_EDITS { p.faint { "And " (words::many(edits.len() - MAX_EDITS, "more edit")) "." } }
                },
                What::Patch(text) => (patch(text)),
                What::Command(command) => pre.term tabindex="0" { span.faint aria-hidden="true" { "$ " } (beginning(command, MAX_TEXT_BYTES).0) },
                What::File(whole) => pre.edit tabindex="0" { ins { (beginning(whole, MAX_TEXT_BYTES).0) } },
            }
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

/// A patch as it is, its added and removed lines as such.
fn patch(patch: &str) -> Markup {
    let sign = |line: &str| {
        line.chars()
            .next()
            .filter(|sign| matches!(sign, '+' | '-') && !line.starts_with("+++") && !line.starts_with("---"))
    };
    let (shown, more) = beginning(patch, MAX_TEXT_BYTES);
    let lines: Vec<&str> = shown.split_inclusive('\n').collect();
    let runs = lines.chunk_by(|one, other| sign(one) == sign(other)).take(LINES);
    html! {
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
