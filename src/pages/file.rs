//! A run as a single file that opens from disk, with the same templates, style and scripts, all included in the page.
//!
//! Without scripts it is an outline with the steps below it. The scripts draw the outline as on a server, and show one step
//! at a time. Nothing is loaded: the content security policy allows only the included style and script, by hash.

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
use super::skeleton::{MAX_ROWS, Skeleton};
use super::timeline::{self, FILE_ROWS, Shown};
use super::words::{SHOWN, line};
use crate::run::Run;
use crate::transcript::content;

/// The modules, in order of dependency.
const MODULES: [&str; 7] = [
    "format.js",
    "skeleton.js",
    "tree.js",
    "page.js",
    "markdown.js",
    "control.js",
    "file.js",
];

/// Approximate bytes of all values in a file, and the minimum for each.
const VALUES: usize = 32 << 20;
const LEAST: usize = 4 << 10;
/// Maximum failed steps that a file has in addition to its first steps.
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
/// `out` fails.
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
    // Values in a long run are shortened more, so that browsers can open the file.
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
    if outline.rows.len() <= MAX_ROWS {
        let skeleton = STANDARD.encode(Skeleton::of(&outline, 0).bytes());
        put(&html! { script type="text/plain" id="skeleton" { (skeleton) } }.into_string())?;
    }
    put(&html! { script type="module" { (PreEscaped(&script)) } }.into_string())?;
    put(&behind)
}

const OPEN_MAIN: PreEscaped<&str> = PreEscaped(r#"<main class="full" id="main">"#);

/// Writes a page with several runs, one below the other, after a list of their questions. It has no scripts. `what`: a
/// session or a file, which has this name.
///
/// # Errors
///
/// `out` fails.
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

/// A file including our style: the text before and after its body. `script`: the only script in the body.
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

/// The modules as one script: nothing is imported, so no two modules may define the same name.
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

/// A hash in the form of a content security policy.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}
