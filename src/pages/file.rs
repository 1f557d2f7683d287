//! A run as one file that opens from disk: the same templates, style and scripts, written into the page.
//!
//! Without scripts it is an outline with the steps below it. The scripts draw the outline as on a server, and show one step at a time.
//! Nothing is loaded: the content security policy names the hashes of the style and the script, and allows nothing else.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, PreEscaped, html};
use sha2::{Digest as _, Sha256};

use super::assets;
use super::conversation::{self, Place};
use super::findings;
use super::head::{self, Around, Tab, step_anchor, title};
use super::outline::Outline;
use super::pane::{self, About};
use super::skeleton::{MOST, Skeleton};
use super::timeline::{self, FILE_ROWS, Shown};
use super::words::{SHOWN, line};
use crate::run::Run;
use crate::transcript::content;

/// The modules, in the order in which they need one another.
const MODULES: [&str; 7] = [
    "format.js",
    "skeleton.js",
    "tree.js",
    "page.js",
    "markdown.js",
    "control.js",
    "file.js",
];

/// Bytes of all values in a file, about, and the least that it has of each.
const VALUES: usize = 32 << 20;
const LEAST: usize = 4 << 10;
/// Steps behind the first ones that are in a file because they failed.
const FAILED: usize = 500;

/// Whether a text begins like a page of a run.
#[must_use]
pub fn is_page(head: &[u8]) -> bool {
    head.starts_with(b"<!DOCTYPE html>") && memchr::memmem::find(head, b"default-src").is_some()
}

/// Writes the page of a run, section by section.
///
/// # Errors
///
/// `out` takes no more.
pub fn write(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let outline = Outline::of(run);
    let around = Around::default();
    let script = script();
    let (before, behind) = file(&format!("{} {}", line(title(run), 80), run.trace_id), Some(&script));
    let mut put = |markup: &str| out.write_all(markup.as_bytes());
    put(&before)?;
    let top = html! {
        a.skip href="#main" { "Skip to content" }
        (OPEN_MAIN)
        (head::head(run, Tab::Timeline, &around))
        (timeline::view(&outline, Shown::default(), outline.first_to_look_at(), &About::default()))
    };
    put(&top.into_string())?;
    put(r#"<div class="steps" id="steps">"#)?;
    // A long run has less of each value, so that the file stays one that a browser opens.
    let steps = outline.rows.len().clamp(1, FILE_ROWS);
    let most = (VALUES / steps).clamp(LEAST, SHOWN);
    let about = About { most, ..About::default() };
    let mut failed = 0;
    for (row, (_, step)) in outline.steps().enumerate() {
        failed += usize::from(row >= FILE_ROWS && step.operation.failure.is_some());
        if row < FILE_ROWS || (step.operation.failure.is_some() && failed <= FAILED) {
            let pane = pane::pane(&outline, row, step, &about);
            put(&html! { section.pane.alone id=(step_anchor(step)) data-row=(row) { (pane) } }.into_string())?;
        }
    }
    put("</div>")?;
    put(r#"<section class="part" id="conversation">"#)?;
    let place = Place {
        prefix: "",
        served: false,
        has_steps: true,
        most,
    };
    conversation::write(run, place, FILE_ROWS, &mut put)?;
    put("</section>")?;
    put(&html! { section.part id="findings" { (findings::view(run, &around)) } }.into_string())?;
    put("</main>")?;
    if outline.rows.len() <= MOST {
        let skeleton = STANDARD.encode(Skeleton::of(&outline, 0).bytes());
        put(&html! { script type="text/plain" id="skeleton" { (skeleton) } }.into_string())?;
    }
    put(&html! { script type="module" { (PreEscaped(&script)) } }.into_string())?;
    put(&behind)
}

const OPEN_MAIN: PreEscaped<&str> = PreEscaped(r#"<main class="full" id="main">"#);

/// Writes a page of several runs, one below the other, behind a list of what was asked in each. It has no scripts. `what` they are of, a
/// session or a file, has this name.
///
/// # Errors
///
/// `out` takes no more.
pub(crate) fn write_runs(what: &str, name: &str, runs: &[Run], out: &mut dyn Write) -> io::Result<()> {
    let around = Around::default();
    let asked = |run: &Run| {
        run.question
            .as_ref()
            .map(|said| line(&content::text(&said.content), 200))
            .unwrap_or_default()
    };
    let (before, behind) = file(&format!("{what} {}", line(name, 80)), None);
    let mut put = |markup: &str| out.write_all(markup.as_bytes());
    put(&before)?;
    put(r#"<main class="full">"#)?;
    let top = html! {
        div.runhead { div.line { h1 { (what) " " (line(name, 200)) } } }
        ol.hops { @for (number, run) in runs.iter().enumerate() { li { a href={ "#run-" (number) } { code { (head::short_id(&run.trace_id.to_string())) } " " (asked(run)) } } } }
    };
    put(&top.into_string())?;
    for (number, run) in runs.iter().enumerate() {
        let prefix = format!("run-{number}-");
        put(&html! { div id={ "run-" (number) } { (head::head(run, Tab::Timeline, &around)) } }.into_string())?;
        put(r#"<section class="part">"#)?;
        let place = Place {
            prefix: &prefix,
            served: false,
            has_steps: false,
            most: SHOWN,
        };
        conversation::write(run, place, FILE_ROWS, &mut put)?;
        put("</section>")?;
        if !run.findings.is_empty() {
            put(&html! { section.part { (findings::view(run, &around)) } }.into_string())?;
        }
    }
    put("</main>")?;
    put(&behind)
}

/// A file with our style in it: what comes before its body, and what behind it. `script`: what the body has as its only script.
fn file(title: &str, script: Option<&str>) -> (String, String) {
    let style = assets::named("ui.css").map_or("", |asset| asset.text);
    let script = script.map(|script| format!("script-src '{}'; ", hash(script))).unwrap_or_default();
    let policy = format!(
        "default-src 'none'; {script}style-src '{}'; base-uri 'none'; form-action 'none'",
        hash(style)
    );
    let head = html! {
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(policy);
            meta name="referrer" content="no-referrer";
            meta name="viewport" content="width=device-width, initial-scale=1";
            title { (title) }
            style { (PreEscaped(style)) }
        }
    };
    let before = html! { (DOCTYPE) (PreEscaped(r#"<html lang="en">"#)) (head) (PreEscaped(r#"<body class="file">"#)) };
    (before.into_string(), "</body></html>".to_owned())
}

/// The modules as one: nothing is imported, so no two of them may give one name to two things.
fn script() -> String {
    let modules = MODULES.iter().filter_map(|name| assets::named(name));
    let lines = modules
        .flat_map(|module| module.text.lines())
        .filter(|line| !line.starts_with("import "));
    lines
        .map(|line| line.strip_prefix("export ").unwrap_or(line))
        .collect::<Vec<_>>()
        .join("\n")
}

/// As a content security policy writes it.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}
