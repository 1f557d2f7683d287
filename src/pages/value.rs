//! A recorded value: its type, size and beginning, and a link to the whole.

use maud::{Markup, PreEscaped, html};

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
            pre tabindex="0" role="region" aria-label=(words::line(caption, 80)) {
                // A file has the steps of a whole run: no element more than needed.
                @match whole.and_then(|_| folding(&shown)) { Some(folding) => (folding), None => (shown) }
            }
            @if let Some(of) = of {
                div.more {
                    "The first " (words::bytes(shown.len().min(most))) " of " (words::bytes(of)) ". "
                    @if let Some(whole) = whole { a href=(whole) { "Open the whole as text" } }
                }
            }
        }
    }
}

/// Lines of a value that fold at most.
const LINES: usize = 400;

/// Indented JSON of which the inner objects and lists fold; `None`: it has none, is other text, or too long.
fn folding(text: &str) -> Option<Markup> {
    if !text.starts_with(['{', '[']) || text.lines().count() > LINES {
        return None;
    }
    let (mut out, mut depth) = (String::new(), 0_usize);
    for line in text.lines() {
        let shown = html! { (line) "\n" }.into_string();
        let (opens, closes) = (line.ends_with(['{', '[']), line.trim_start().starts_with(['}', ']']));
        match (opens, closes) {
            (true, true) => return None,
            (true, false) if depth > 0 => out.extend(["<details open><summary>", &shown, "</summary>"]),
            _ => out.push_str(&shown),
        }
        depth = (depth + usize::from(opens)).checked_sub(usize::from(closes))?;
        if closes && depth > 0 {
            out.push_str("</details>");
        }
    }
    out.pop();
    (depth == 0 && out.contains("<details")).then_some(PreEscaped(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_objects_and_lists_fold() {
        let folded = |text: &str| folding(text).map(Markup::into_string);
        let json = "{\n  \"a\": [\n    {\n      \"b\": \"<{\"\n    }\n  ],\n  \"c\": {}\n}";
        let html = "{\n<details open><summary>  &quot;a&quot;: [\n</summary><details open><summary>    {\n</summary>      &quot;b&quot;: &quot;&lt;{&quot;\n    }\n</details>  ],\n</details>  &quot;c&quot;: {}\n}";
        assert_eq!(folded(json).as_deref(), Some(html));
        for other in ["words", "[1, 2", "{\n  \"a\": [1,\n  2]\n}", "}", "{\n}}\n}", "{\n} {\n}"] {
            assert_eq!(folded(other), None, "{other}");
        }
        assert_eq!(
            folded(&format!("[\n{}]", "  1,\n".repeat(LINES))),
            None,
            "a page has so many elements at most"
        );
    }
}
