//! A recorded value: its type, size and beginning, and a link to the whole.

use maud::{Markup, html};

use super::words::{self, SHOWN, beginning};

/// A value. `whole`: the link to all of it, as text.
pub(crate) fn value(caption: &str, text: &str, whole: Option<&str>) -> Markup {
    boxed("val", caption, text, whole, SHOWN)
}

/// A value of at most `most` bytes, in a file that has nothing else of it.
pub(crate) fn value_up_to(caption: &str, text: &str, most: usize) -> Markup {
    boxed("val", caption, text, None, most)
}

/// An error.
pub(crate) fn failure(caption: &str, text: &str) -> Markup {
    boxed("val badv", caption, text, None, SHOWN)
}

fn boxed(class: &str, caption: &str, text: &str, whole: Option<&str>, most: usize) -> Markup {
    let (shown, of) = beginning(text, most);
    html! {
        div class=(class) {
            div.cap {
                b { (words::line(caption, 80)) }
                span { (words::bytes(text.len())) }
                @match whole {
                    Some(whole) if of.is_some() => button.quiet.small data-copyfrom=(whole) { "Copy all" },
                    _ => button.quiet.small data-copyval { "Copy" },
                }
            }
            pre tabindex="0" role="region" aria-label=(words::line(caption, 80)) { (shown) }
            @if let Some(of) = of {
                div.more {
                    "The first " (words::bytes(shown.len().min(most))) " of " (words::bytes(of)) ". "
                    @if let Some(whole) = whole { a href=(whole) { "Open the whole as text" } }
                }
            }
        }
    }
}
