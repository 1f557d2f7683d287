//! Review: the runs of a list one by one, each judged with a key or a click.

use maud::{Markup, html};

use super::asking::{number, parameter};
use super::conversation;
use super::frame::{self, Place};
use super::head::{self, Tab};
use super::load::Loaded;
use super::query::Query;
use super::timeline;
use super::words::{line, many};
use crate::web::answer::Answer;
use crate::web::listing::{Listed, Score};
use crate::web::reply::Problem;
use crate::web::request::Asked;
use crate::web::service::Web;
use crate::web::url::add_parameter;

/// Maximum runs in a queue.
const QUEUE: usize = 500;
/// The page's parameters in addition to the filters of the list.
const OWN: &[&str] = &["at", "view", "about", "labels", "from"];
/// The default labels of the keys from 1 on.
const LABELS: &str = "good, bad";
/// The default name of the judgement.
const ABOUT: &str = "feedback";
/// Keys for labels: 1 to 9.
const KEYS: usize = 9;

/// The reader's choices.
#[derive(Debug)]
struct Review {
    query: Query,
    /// The name of the judgement.
    about: String,
    /// The labels of the keys, as entered.
    labels: String,
    /// `timeline`; otherwise the conversation is shown.
    view: String,
}

impl Review {
    fn of(asked: &Asked) -> Result<Self, Problem> {
        let given = |name: &str, usual: &str| {
            let text = parameter(asked, name).map(|text| text.trim().to_owned());
            text.filter(|text| !text.is_empty()).unwrap_or_else(|| usual.to_owned())
        };
        Ok(Self {
            query: Query::of_more(asked, OWN)?,
            about: given("about", ABOUT),
            labels: given("labels", LABELS),
            view: given("view", ""),
        })
    }

    /// The address of the review at a run, in a view.
    fn address(&self, at: &str, view: &str) -> String {
        let mut address = self.query.address_of("/review", "", None);
        let own = [("about", self.about.as_str()), ("labels", &self.labels), ("view", view), ("at", at)];
        for ((name, value), usual) in own.into_iter().zip([ABOUT, LABELS, "", ""]) {
            if value != usual {
                add_parameter(&mut address, name, value);
            }
        }
        address
    }

    fn keys(&self) -> impl Iterator<Item = &str> {
        let labels = self.labels.split(',').map(str::trim);
        labels.filter(|label| !label.is_empty()).take(KEYS)
    }
}

/// The page.
pub(super) fn page(web: &Web, (): (), asked: &Asked, answer: &mut Answer) -> Result<Markup, Problem> {
    let review = Review::of(asked)?;
    let found = review.query.find_up_to(QUEUE, web, answer)?.valid()?;
    let at = parameter(asked, "at");
    let place = found
        .runs
        .iter()
        .position(|listed| Some(&listed.trace_id) == at.as_ref())
        .unwrap_or(0);
    let Some(listed) = found.runs.get(place) else {
        let body = html! {
            h1.vh { "Review" }
            div.none-yet {
                h2 { "No run is left to review" }
                p { a href=(review.query.address("", None)) { "The list" } " " a href=(review.query.address("judged", None)) { "All runs of it" } }
            }
        };
        return Ok(frame::page("Review", Place::Runs, &[], &body));
    };
    let loaded = Loaded::of(web, &listed.trace_id, answer)?;
    let run = loaded.run()?;
    let is_timeline = review.view == "timeline";
    let reading = if is_timeline {
        timeline::of(web, asked, &loaded, answer)?
    } else {
        conversation::view(run, number(asked, "from")?)
    };
    let body = html! {
        (bar(&review, &found.runs, place, listed, found.next.is_some()))
        (head::head(run, if is_timeline { Tab::Timeline } else { Tab::Conversation }, &loaded.around()))
        (reading)
    };
    let scripts: &[&str] = if is_timeline { &["review.js", "run.js"] } else { &["review.js"] };
    let title = format!("Review {}", head::short_id(&listed.trace_id));
    Ok(frame::page(&title, Place::Runs, scripts, &body))
}

/// The position in the queue, the links, and the form. `more`: whether the list continues after the queue.
fn bar(review: &Review, queue: &[Listed], place: usize, at: &Listed, more: bool) -> Markup {
    let address = |place: Option<usize>| {
        let run = place.and_then(|place| queue.get(place));
        run.map(|run| review.address(&run.trace_id, &review.view))
    };
    let (before, next) = (address(place.checked_sub(1)), address(place.checked_add(1)));
    let judged = queue.iter().filter(|listed| listed.summary.is_judged()).count();
    let here = review.address(&at.trace_id, &review.view);
    let (other, name) = match review.view.as_str() {
        "timeline" => ("", "Read the conversation"),
        _ => ("timeline", "Read the timeline"),
    };
    let of_people: Vec<String> = at
        .summary
        .scores
        .iter()
        .filter(|score| score.annotator.is_some())
        .map(Score::words)
        .collect();
    html! {
        section.review aria-label="Review" {
            div.line {
                nav aria-label="Runs under review" {
                    @if let Some(before) = &before { a.btn.small rel="prev" href=(before) aria-keyshortcuts="k" { "Previous" } }
                    b { (place + 1) " of " (queue.len()) @if more { "+" } }
                    @if let Some(next) = &next { a.btn.small rel="next" href=(next) aria-keyshortcuts="j" { "Next" } }
                }
                span { (many(judged, "run")) " judged" }
                @if !of_people.is_empty() { span.chip { (line(&of_people.join(" · "), 120)) } }
                a href=(review.address(&at.trace_id, other)) { (name) }
                a href=(review.query.address("", None)) { "Back to the list" }
                (choices(review))
            }
            form.mark id="judge" method="post" action="/runs/evaluations" {
                input type="hidden" name="t" value=(at.trace_id);
                input type="hidden" name="name" value=(review.about);
                input type="hidden" name="next" value=(next.unwrap_or(here));
                // Enter in a field presses the first button, so that one does not judge.
                button.last { "Save the note" }
                @for (at, label) in review.keys().enumerate() {
                    button name="label" value=(label) data-key=(at + 1) aria-keyshortcuts=(at + 1) { kbd { (at + 1) } " " (line(label, 40)) }
                }
                input name="explanation" placeholder="Note" aria-label="Note" maxlength="16000" size="36";
                input name="score" inputmode="decimal" placeholder="Score" aria-label="Score" size="6";
                input name="annotator" placeholder="Your name" aria-label="Your name" maxlength="200" autocomplete="name" size="12";
            }
        }
    }
}

/// The reader's choices, as a form that reloads the page.
fn choices(review: &Review) -> Markup {
    let kept = review.query.pairs().into_iter().filter(|(name, _)| *name != "judged");
    html! {
        details.menu {
            summary.btn.small { "Labels and queue" }
            form method="get" action="/review" {
                @for (name, value) in kept { input type="hidden" name=(name) value=(value); }
                @if !review.view.is_empty() { input type="hidden" name="view" value=(review.view); }
                label { "About " input name="about" value=(review.about) maxlength="200"; }
                label { "Labels of the keys 1 to 9 " input name="labels" value=(review.labels) maxlength="400" size="32"; }
                label { input type="checkbox" name="judged" value="no" checked[review.query.judged == "no"]; " Leave out what is judged" }
                button { "Set" }
            }
        }
    }
}
