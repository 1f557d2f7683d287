//! Judgements of a step by people, and the form for them.

use maud::{Markup, html};

use super::words::{line, plain, time};
use crate::operation::Kind;
use crate::run::{Annotation, Run, Step};

/// People's judgements of a step, those that count first. With a server, also the form; a step without a span cannot be judged.
pub(crate) fn view(run: &Run, of: &Step, served: bool) -> Markup {
    let judges = |said: &&Annotation| said.judged.is_some() && said.judged == of.span_id;
    let (said, past): (Vec<&Annotation>, Vec<&Annotation>) = run.annotations.iter().filter(judges).partition(|said| said.counts);
    let form = of.span_id.filter(|_| served && of.operation.kind != Kind::Evaluator);
    html! {
        @if !said.is_empty() || !past.is_empty() || form.is_some() {
            section.feedback {
                h3 { "Annotations" }
                @for one in said { (shown(run, one, served)) }
                @if !past.is_empty() {
                    details.past {
                        summary { "Earlier: " (past.len()) }
                        @for one in past { (shown(run, one, false)) }
                    }
                }
                @if let Some(span) = form { (ask(run, &span.to_string())) }
            }
        }
    }
}

fn shown(run: &Run, said: &Annotation, served: bool) -> Markup {
    let of = &said.evaluation;
    let name = of.name.as_deref().unwrap_or("not named");
    html! {
        div.said {
            p.faint {
                b { (line(said.annotator.as_deref().unwrap_or("not named"), 80)) }
                @if let Some(at) = said.at { " " (time(at.0, 0)) " UTC" }
            }
            p {
                (line(name, 80)) ": "
                @if said.withdraws { "withdrawn" }
                @if let Some(score) = of.score { b { (score) } " " }
                @if let Some(label) = &of.label { b { (line(label, 200)) } }
            }
            @if let Some(words) = &of.explanation { p.txt { (plain(words)) } }
            @if let (true, Some(judged)) = (served, said.judged) {
                form.again method="post" action={ "/runs/" (run.trace_id) "/evaluations" } {
                    input type="hidden" name="span_id" value=(judged);
                    input type="hidden" name="name" value=(name);
                    input type="hidden" name="annotator" value=(said.annotator.as_deref().unwrap_or_default());
                    button.quiet.small name="withdraw" value="1" title={ "Delete the judgement " (line(name, 80)) "; the history keeps it" } { "Delete" }
                }
            }
        }
    }
}

fn ask(run: &Run, span: &str) -> Markup {
    html! {
        details {
            summary { "Add or correct a note, a label or a score" }
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
