//! Reads what the JavaScript SDK writes to the console: objects in the format of node's `util.inspect`, among anything else the program
//! prints.
//!
//! `ConsoleSpanExporter` and `ConsoleLogRecordExporter` print to a depth of three, 100 items per list and 10,000 characters per text.
//! Truncated places are counted and left empty.

mod cut;
mod otlp;
mod shown;

use std::borrow::Cow;

use serde_json::Value;

pub(crate) use cut::Cut;
use shown::Shown;

/// What was found in console output, besides spans and log records.
#[derive(Debug, Default)]
pub(crate) struct Console {
    pub(crate) cut: Cut,
    /// Truncated or invalid objects.
    pub(crate) broken: usize,
    /// Metric objects.
    pub(crate) metrics: usize,
    /// Other non-empty lines.
    pub(crate) other_lines: usize,
}

/// Whether a text may contain console spans or log records: they all name a scope.
pub(crate) fn may_have(text: &[u8]) -> bool {
    let has = |words: &str| memchr::memmem::find(text, words.as_bytes()).is_some();
    has("instrumentationScope: ") || has("instrumentationLibrary: ")
}

/// Converts each object to an OTLP/JSON export request; `None` if the text has no console span or log record.
pub(crate) fn read(text: &[u8], take: &mut dyn FnMut(Value)) -> Option<Console> {
    let text = String::from_utf8_lossy(text);
    let text = without_colours(&text);
    let (mut out, mut taken) = (Console::default(), false);
    let mut rest: &str = &text;
    while !rest.is_empty() {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        if line.trim_end() != "{" {
            out.other_lines += usize::from(!line.trim().is_empty());
            rest = after;
            continue;
        }
        let length = length_of_object(rest);
        let (object, after) = rest.split_at(length.unwrap_or(line.len()));
        rest = after;
        match length.and_then(|_| Shown::parse(object)) {
            Some(shown) if shown.get("descriptor").is_some() => out.metrics += 1,
            Some(shown) => match otlp::request(&shown, &mut out.cut) {
                Some(request) => {
                    taken = true;
                    take(request);
                }
                None => out.broken += 1,
            },
            None => out.broken += 1,
        }
    }
    taken.then_some(out)
}

/// Splits a text into the objects printed in it and counts the other non-empty lines. An object spans lines from `{` to `}` or ends a line.
/// `take` returns whether it wants the object.
pub(crate) fn objects(text: &str, take: &mut dyn FnMut(&str) -> bool) -> usize {
    let (mut rest, mut others) = (text, 0);
    while !rest.is_empty() {
        let line = rest.split_inclusive('\n').next().unwrap_or(rest);
        let of_lines = (line.trim_end() == "{").then(|| length_of_object(rest)).flatten();
        let length = of_lines.unwrap_or(line.len());
        let (object, after) = rest.split_at(length);
        rest = after;
        let begin = object.find('{').and_then(|begin| object.get(begin..));
        if !begin.is_some_and(|object| take(object.trim_end())) {
            others += object.lines().filter(|line| !line.trim().is_empty()).count();
        }
    }
    others
}

/// Length up to the end of the line that closes the object. Node prints a line feed in a text as `\n`.
fn length_of_object(text: &str) -> Option<usize> {
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        length += line.len();
        if line.trim_end() == "}" {
            return Some(length);
        }
        // Another object begins, so this one was truncated.
        if length > line.len() && line.trim_end() == "{" {
            return None;
        }
    }
    None
}

/// Removes terminal colours.
fn without_colours(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return Cow::Borrowed(text);
    }
    let mut pieces = text.split("\u{1b}[");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(|letter: char| !letter.is_ascii_digit() && letter != ';');
        match end.and_then(|end| piece.get(end..)?.strip_prefix('m')) {
            Some(rest) => out.push_str(rest),
            None => {
                out.push_str("\u{1b}[");
                out.push_str(piece);
            }
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(attributes: &str) -> (Option<Console>, Vec<Value>) {
        let text = format!(
            "{{\n  resource: {{ attributes: {{}} }},\n  instrumentationScope: {{ name: 's' }},\n  traceId: 'a1',\n  id: 'b1',\n  timestamp: 1000.5,\n  \
             duration: 2,\n  attributes: {attributes}\n}}\n"
        );
        let mut requests = Vec::new();
        let console = read(text.as_bytes(), &mut |request| requests.push(request));
        (console, requests)
    }

    /// The attributes by key, and what node cut.
    fn attributes(shown: &str) -> (Vec<(String, Value)>, Vec<String>) {
        let (console, requests) = of(shown);
        let console = console.expect("a span");
        assert_eq!(console.broken, 0, "{shown}");
        let [request] = requests.as_slice() else {
            panic!("one request: {shown}")
        };
        let span = request.pointer("/resourceSpans/0/scopeSpans/0/spans/0").expect("a span");
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        assert_eq!(text(&span["startTimeUnixNano"]), "1000500");
        assert_eq!(text(&span["endTimeUnixNano"]), "1002500");
        let list = span["attributes"].as_array().expect("a list").iter();
        (
            list.map(|pair| (text(&pair["key"]), pair["value"].clone())).collect(),
            console.cut.first,
        )
    }

    #[test]
    fn what_node_cut_is_told_and_nothing_takes_its_place() {
        for (shown, kept, cut) in [
            ("{ a: [Object], b: 1 }", "b", "attributes.a"),
            ("{ a: [ 1, 2, ... 3 more items ], b: 1 }", "a b", "attributes.a"),
            (
                "{\n    a: [\n      1,\n      ... 3 more items\n    ],\n    b: 1\n  }",
                "a b",
                "attributes.a",
            ),
            ("{ a: 'abc'... 7 more characters, b: 1 }", "a b", "attributes.a"),
            ("{ a: [Circular *1], b: 1 }", "b", "attributes.a"),
            ("{ a: Map(2) { 'x' => 1, ... 1 more item }, b: 1 }", "a b", "attributes.a...."),
            ("{ a: [Function: f], b: 1 }", "b", "attributes.a"),
            ("[Object]", "", "attributes"),
        ] {
            let (attributes, told) = attributes(shown);
            let keys: Vec<&str> = attributes.iter().map(|(key, _)| key.as_str()).collect();
            assert_eq!((keys.join(" ").as_str(), told.join(" ").as_str()), (kept, cut), "{shown}");
        }
    }

    #[test]
    fn what_is_odd_and_whole() {
        let (attributes, cut) = attributes(
            "{ a: 'x' +\n  'y\\n', b: undefined, c: NaN, d: Map(1) { 'k' => 2 }, e: Set(2) { 1, 'z' }, f: Foo { g: -1.5 }, h: 12n, \
             'i-j': [Object: null prototype] { k: null }, [Symbol(l)]: true, m: Uint8Array(1) [ 7 ], n: `'\\x41\\u00e9` }",
        );
        assert!(cut.is_empty(), "{cut:?}");
        let told = serde_json::to_string(&attributes).expect("JSON");
        assert_eq!(
            told,
            r#"[["a",{"stringValue":"xy\n"}],["c",{"doubleValue":"NaN"}],["d",{"kvlistValue":{"values":[{"key":"k","value":{"intValue":"2"}}]}}],"#.to_owned()
                + r#"["e",{"arrayValue":{"values":[{"intValue":"1"},{"stringValue":"z"}]}}],"#
                + r#"["f",{"kvlistValue":{"values":[{"key":"g","value":{"doubleValue":-1.5}}]}}],["h",{"intValue":"12"}],"#
                + r#"["i-j",{"kvlistValue":{"values":[{"key":"k","value":{}}]}}],["[Symbol(l)]",{"boolValue":true}],"#
                + r#"["m",{"arrayValue":{"values":[{"intValue":"7"}]}}],["n",{"stringValue":"'Aé"}]]"#
        );
    }

    #[test]
    fn what_is_broken_is_counted_and_what_is_long_or_deep_takes_no_longer() {
        let whole = of("{}").1;
        for shown in [
            "{ a: [ }",
            "{ a: 'x",
            "{ a: }",
            "{ 'a }",
            "{ a: 'x\\u12' }",
            &"[ ".repeat(100_000),
            &"{ a: ".repeat(100_000),
        ] {
            let text = format!("{{\n  instrumentationScope: {{}},\n  attributes: {shown}\n}}\n");
            let (mut requests, good) = (
                0,
                "{\n  instrumentationScope: {},\n  traceId: 'a1',\n  id: 'b1',\n  timestamp: 1,\n  duration: 2\n}\n",
            );
            let console = read((text + good).as_bytes(), &mut |_| requests += 1).expect("a span");
            assert_eq!((console.broken, requests), (1, 1));
        }
        let begun = std::time::Instant::now();
        for many in [
            "1, ",
            "'a' => ",
            "... ",
            "... 1 more item,\n",
            "<1 empty item>, ",
            "a {",
            "'",
            "[",
            "{\n",
        ] {
            let _ = of(&format!("[ {} ]", many.repeat(50_000)));
        }
        for many in ["{}", "[a {}, ", "[ x ] ", "a{}, ", "<a {}, ", "'a': [Object], "] {
            let _ = of(&format!("{{ {} }}", many.repeat(50_000)));
        }
        let key = "k".repeat(250_000);
        let _ = of(&format!("{{ {key}: {{ {} }} }}", "a: [Object], ".repeat(25_000)));
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
        assert_eq!(whole.len(), 1);
    }
}
