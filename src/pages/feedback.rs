//! Judgements of a step by people, and the form for them.

use maud::{Markup, html};

use super::outline::Outline;
use super::words::{line, plain};
use crate::operation::{Evaluation, Kind};
use crate::run::{Run, Step};
use crate::view::step::judgement;

/// Judgements of a step by people. On a server, also the form; a step without a span cannot be judged.
pub(crate) fn view(outline: &Outline<'_>, row: usize, of: &Step, served: bool) -> Markup {
    let below = outline.children(row).filter_map(|child| outline.step(child));
    let said: Vec<(&Step, &Evaluation)> = below.filter_map(|step| Some((step, judgement(step)?))).collect();
    let form = of.span_id.filter(|_| served && of.operation.kind != Kind::Evaluator);
    html! {
        @if !said.is_empty() || form.is_some() {
            section.feedback {
                h3 { "Annotations" }
                @for (step, evaluation) in said { (one(step, evaluation)) }
                @if let Some(span) = form { (ask(outline.run, &span.to_string())) }
            }
        }
    }
}

fn one(step: &Step, of: &Evaluation) -> Markup {
    let about = |name: &str| step.operation.metadata.get(name).and_then(|value| value.as_str());
    html! {
        div.said {
            p.faint {
                b { (line(about("annotator").unwrap_or("not named"), 80)) }
                @if let Some(at) = about("annotated_at") { " " (line(&at.get(..19).unwrap_or(at).replace('T', " "), 30)) " UTC" }
            }
            p {
                (line(of.name.as_deref().unwrap_or("not named"), 80)) ": "
                @if let Some(score) = of.score { b { (score) } " " }
                @if let Some(label) = &of.label { b { (line(label, 200)) } }
            }
            @if let Some(words) = &of.explanation { p.txt { (plain(words)) } }
        }
    }
}

fn ask(run: &Run, span: &str) -> Markup {
    html! {
        details {
            summary { "Add a note, a label or a score" }
            form method="post" action={ "/runs/" (run.trace_id) "/evaluations" } {
                input type="hidden" name="span_id" value=(span);
                label { "About " input name="name" maxlength="200" placeholder="feedback"; }
                label { "Label " input name="label" maxlength="200" placeholder="good"; }
                label { "Score " input name="score" inputmode="decimal" size="6" placeholder="0 to 1"; }
                label { "Note " textarea name="explanation" rows="3" maxlength="16000" {} }
                label title="Where tokens are required, the token's name is used instead." { "Your name " input name="annotator" maxlength="200" autocomplete="name"; }
                button { "Save" }
            }
        }
    }
}
