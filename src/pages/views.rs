//! Saved views above the list of runs, and the form that saves one.

use maud::{Markup, html};

use super::query::Query;
use super::words::line;
use crate::view::text::is_harmful;
use crate::web::views::{NAME, View};

/// The views, and the form if the list has filters.
pub(super) fn view(query: &Query, saved: &[View]) -> Markup {
    let here = query.address("", None);
    let is_saved = saved.iter().any(|view| view.address == here);
    let can_save = !query.pairs().is_empty() && !is_saved;
    if !query.compare.is_empty() || (saved.is_empty() && !can_save) {
        return html! {};
    }
    html! {
        nav.views aria-label="Saved views" {
            @for view in saved {
                form.chip method="post" action="/views" {
                    input type="hidden" name="name" value=(view.name);
                    a href=(view.address) aria-current=[(view.address == here).then_some("page")] { (line(&view.name, NAME)) }
                    button.quiet.small name="delete" value="1" aria-label={ "Delete the view " (line(&view.name, NAME)) } { "×" }
                }
            }
            @if can_save {
                form method="post" action="/views" {
                    input type="hidden" name="address" value=(here);
                    input name="name" list="views" required maxlength=(NAME) size="18" placeholder="Name of this view" aria-label="Name of this view";
                    datalist id="views" { @for view in saved.iter().filter(|view| !view.name.contains(is_harmful)) { option value=(view.name) {} } }
                    button { "Save view" }
                }
            }
        }
    }
}
