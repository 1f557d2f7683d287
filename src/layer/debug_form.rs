//! Parses the `Debug` form in which `#[instrument]` records parameters and return values.

use serde_json::{Map, Value as Json};

/// Maximum nesting of lists and options.
const MAX_DEPTH: usize = 64;

/// Converts a `Debug` form to JSON: numbers, texts, characters, and lists, maps and sets of these. `Some(..)` becomes its content, `None`
/// and `()` become null, anything else stays text.
pub(super) fn of_debug(text: &str) -> Json {
    let text = text.trim();
    read(text).unwrap_or_else(|| Json::String(text.to_owned()))
}

/// The return value of a function.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Returned {
    /// The value; a text comes without its quotes.
    Value(String),
    /// The error of a `Result`.
    Error(String),
    /// `()`.
    Nothing,
}

impl Returned {
    /// Parses the value recorded by `ret`, in `Debug` or `Display` form.
    pub(super) fn of(text: &str) -> Self {
        match text {
            "()" | "Ok(())" => Self::Nothing,
            _ => match (inside(text, "Err"), inside(text, "Ok")) {
                (Some(error), _) => Self::Error(unquoted(error)),
                (_, Some(value)) => Self::Value(unquoted(value)),
                _ => Self::Value(unquoted(text)),
            },
        }
    }
}

/// The value of a field formatted with `Debug` or `Display`, without what `Debug` adds; `None` for the text `None`.
pub(super) fn field_text(text: String) -> Option<String> {
    let is_form = match text.as_bytes().first() {
        Some(b'"') => text.contains('\\'),
        Some(b'[' | b'{') => text.contains('\\') || text.contains("Some(") || text.contains("None"),
        Some(b'\'' | b'S') => true,
        Some(b'N') if text == "None" => return None,
        _ => false,
    };
    Some(if is_form { unquoted(&text) } else { text })
}

/// Strips what `Debug` adds to a text. Lists and maps become JSON, which most already are; anything else is unchanged.
fn unquoted(text: &str) -> String {
    let is_form = text.starts_with(['"', '\'', '[', '{']) || inside(text, "Some").is_some() || text == "None";
    match is_form.then(|| read(text)).flatten() {
        Some(Json::String(text)) => text,
        Some(json @ (Json::Array(_) | Json::Object(_))) if serde_json::from_str::<Json>(text).is_err() => json.to_string(),
        Some(json @ (Json::Null | Json::Bool(_) | Json::Number(_))) => json.to_string(),
        _ => text.to_owned(),
    }
}

/// The content of a tuple variant with one field.
fn inside<'a>(text: &'a str, variant: &str) -> Option<&'a str> {
    text.strip_prefix(variant)?.strip_prefix('(')?.strip_suffix(')')
}

/// Parses a whole `Debug` form, if it contains only what JSON can express.
fn read(text: &str) -> Option<Json> {
    let mut form = Form { rest: text };
    let value = form.value(MAX_DEPTH)?;
    form.rest.trim_start().is_empty().then_some(value)
}

/// Parser for a `Debug` form.
struct Form<'a> {
    rest: &'a str,
}

impl<'a> Form<'a> {
    fn skip(&mut self, mark: &str) -> Option<()> {
        self.rest = self.rest.trim_start().strip_prefix(mark)?;
        Some(())
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        let depth = depth.checked_sub(1)?;
        self.rest = self.rest.trim_start();
        match self.rest.chars().next()? {
            '"' => self.text('"').map(Json::String),
            // Exactly one character: `Debug` never puts longer text in single quotes.
            '\'' => self.text('\'').filter(|text| text.chars().count() == 1).map(Json::String),
            '[' => {
                self.skip("[")?;
                self.items(']', Vec::new(), depth).map(Json::Array)
            }
            '{' => {
                self.skip("{")?;
                self.members(depth)
            }
            _ if self.skip("Some(").is_some() => {
                let value = self.value(depth)?;
                // The alternate form has a comma after each field.
                let _ = self.skip(",");
                self.skip(")").map(|()| value)
            }
            _ => self.word(),
        }
    }

    /// Parses the remaining items of a list or set, up to its end.
    fn items(&mut self, end: char, mut items: Vec<Json>, depth: usize) -> Option<Vec<Json>> {
        while !self.rest.trim_start().starts_with(end) {
            if !items.is_empty() {
                self.skip(",")?;
                if self.rest.trim_start().starts_with(end) {
                    break;
                }
            }
            items.push(self.value(depth)?);
        }
        self.skip(end.encode_utf8(&mut [0; 4])).map(|()| items)
    }

    /// Parses a map or a set; only the colon after the first key tells them apart.
    fn members(&mut self, depth: usize) -> Option<Json> {
        let mut map = Map::new();
        while !self.rest.trim_start().starts_with('}') {
            let key = self.value(depth)?;
            if self.skip(":").is_none() {
                return map.is_empty().then(|| self.items('}', vec![key], depth).map(Json::Array)).flatten();
            }
            let value = self.value(depth)?;
            let key = match key {
                Json::String(key) => key,
                other => other.to_string(),
            };
            let _ = map.insert(key, value);
            if self.skip(",").is_none() {
                break;
            }
        }
        self.skip("}").map(|()| Json::Object(map))
    }

    /// Parses a number or a word that JSON also has. Integers beyond 64 bits stay text, to keep their digits.
    fn word(&mut self) -> Option<Json> {
        let end = self
            .rest
            .find(|letter: char| !(letter.is_ascii_alphanumeric() || matches!(letter, '+' | '-' | '.' | '_')))
            .unwrap_or(self.rest.len());
        let (word, rest) = match self.rest.strip_prefix("()") {
            Some(rest) => ("None", rest),
            None => self.rest.split_at(end),
        };
        self.rest = rest;
        match word {
            "None" => Some(Json::Null),
            _ => match serde_json::from_str(word).ok()? {
                Json::Number(number) if number.is_f64() && word.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit()) => {
                    Some(Json::String(word.to_owned()))
                }
                json => Some(json),
            },
        }
    }

    /// Parses a quoted text or character, undoing escapes.
    fn text(&mut self, quote: char) -> Option<String> {
        let mut text = String::new();
        let mut letters = self.rest.strip_prefix(quote)?.chars();
        loop {
            match letters.next()? {
                '\\' => text.push(escaped(&mut letters)?),
                letter if letter == quote => break,
                letter => text.push(letter),
            }
        }
        self.rest = letters.as_str();
        Some(text)
    }
}

/// The character of a Rust escape after its backslash; JSON escapes are accepted too.
fn escaped(letters: &mut std::str::Chars<'_>) -> Option<char> {
    Some(match letters.next()? {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        '0' => '\0',
        mark @ ('"' | '\'' | '\\' | '/') => mark,
        'u' => {
            let (digits, rest) = letters.as_str().strip_prefix('{')?.split_once('}')?;
            *letters = rest.chars();
            char::from_u32(u32::from_str_radix(digits, 16).ok()?)?
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn debug_forms_become_json() {
        let forms = [
            ("\"Oslo\"", json!("Oslo")),
            ("3", json!(3)),
            ("-0.5", json!(-0.5)),
            ("[\"a\", \"b\"]", json!(["a", "b"])),
            ("Some(\"x\")", json!("x")),
            ("Some([1, 2])", json!([1, 2])),
            ("[Some(\"x\"), None, Some(\"y\")]", json!(["x", null, "y"])),
            ("{\"a\": Some(1), \"b\": None}", json!({"a": 1, "b": null})),
            ("{2: 'é'}", json!({"2": "é"})),
            ("{\"a\", \"b\"}", json!(["a", "b"])),
            ("[\n    \"a\",\n    Some(\n        1,\n    ),\n]", json!(["a", 1])),
            ("14695981039346656037", json!(14_695_981_039_346_656_037_u64)),
            (
                "340282366920938463463374607431768211455",
                json!("340282366920938463463374607431768211455"),
            ),
            ("None", Json::Null),
            ("()", Json::Null),
            ("[]", json!([])),
            ("{}", json!({})),
            ("Place { city: \"Oslo\" }", json!("Place { city: \"Oslo\" }")),
            ("[Place { city: \"Oslo\" }]", json!("[Place { city: \"Oslo\" }]")),
            ("Oslo", json!("Oslo")),
            ("\"Oslo\" and more", json!("\"Oslo\" and more")),
            ("", json!("")),
        ];
        for (form, value) in forms {
            assert_eq!(of_debug(form), value, "{form}");
        }
    }

    /// Whatever `Debug` escapes comes back: marks that combine, what has no shape, controls, quotes.
    #[test]
    fn texts_come_back_as_they_were() {
        let texts = [
            "Oslo: \"fine\"\n20 °C\t\\",
            "☀\u{fe0f} 20 °C",
            "नमस्ते दुनिया",
            "สวัสดี",
            "\u{1b}[31mred\u{1b}[0m \u{0}\u{200b}",
            "it's",
            "\\u{41}",
        ];
        for text in texts {
            assert_eq!(of_debug(&format!("{text:?}")), json!(text));
            assert_eq!(of_debug(&format!("{:?}", [Some(text)])), json!([text]));
            assert_eq!(of_debug(&format!("{:#?}", vec![Some(text), None])), json!([text, null]));
            let ok: Result<&str, &str> = Ok(text);
            assert_eq!(Returned::of(&format!("{ok:?}")), Returned::Value(text.to_owned()));
            let failed: Result<&str, &str> = Err(text);
            assert_eq!(Returned::of(&format!("{failed:?}")), Returned::Error(text.to_owned()));
        }
        for letter in ['é', '\'', '"', '\u{94d}', '\n'] {
            assert_eq!(of_debug(&format!("{letter:?}")), json!(letter.to_string()));
        }
    }

    #[test]
    fn returned_values_lose_what_debug_adds() {
        assert_eq!(Returned::of("\"Oslo: \\\"cold\\\"\""), Returned::Value("Oslo: \"cold\"".to_owned()));
        assert_eq!(Returned::of("-3 °C"), Returned::Value("-3 °C".to_owned()));
        assert_eq!(Returned::of("Ok(\"fine\")"), Returned::Value("fine".to_owned()));
        assert_eq!(Returned::of("Some(\"fine\")"), Returned::Value("fine".to_owned()));
        assert_eq!(Returned::of("Some(3)"), Returned::Value("3".to_owned()));
        assert_eq!(Returned::of("Ok(None)"), Returned::Value("null".to_owned()));
        assert_eq!(Returned::of("Err(NoSensor)"), Returned::Error("NoSensor".to_owned()));
        assert_eq!(Returned::of("Ok(())"), Returned::Nothing);
        assert_eq!(Returned::of("[1,  2]"), Returned::Value("[1,  2]".to_owned()));
        assert_eq!(Returned::of("[Some(1), None]"), Returned::Value("[1,null]".to_owned()));
        assert_eq!(Returned::of("[cut] off"), Returned::Value("[cut] off".to_owned()));
        assert_eq!(Returned::of("007"), Returned::Value("007".to_owned()));
    }

    #[test]
    fn what_is_very_deep_stays_text() {
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(of_debug(&deep), json!(deep));
    }
}
