//! Parses Python's printed values (`repr`, and `str` of pydantic models) as JSON.
//!
//! Clients write arguments with `str(dict)`, messages as `[ChatMessage(role=.., content='..')]` and tool results as `content='18C'
//! name='get_weather' tool_call_id='call_1'`. A constructor call becomes an object of its keyword arguments with the class under `type`; an
//! enum member becomes its value.

use serde_json::{Map, Value};

/// Maximum nesting, to bound the cost of hostile input.
const MAX_DEPTH: usize = 64;

/// Parses a Python dict, list or tuple (`{'city': 'Paris', 'n': None}`).
pub(super) fn literal(text: &str) -> Option<Value> {
    let text = text.trim();
    let bracketed = |open: char, close: char| text.starts_with(open) && text.ends_with(close);
    if !(bracketed('{', '}') || bracketed('[', ']') || bracketed('(', ')')) {
        return None;
    }
    whole(text)
}

/// Parses a dict whose first key is quoted by Python, or a list of these, as `str` prints a request.
pub(super) fn printed(text: &str) -> Option<Value> {
    may_be_printed(text).then(|| literal(text)).flatten()
}

/// Like [`printed`], for dicts, lists and scalars only, which lose nothing in JSON.
pub(super) fn printed_plainly(text: &str) -> Option<Value> {
    let text = Some(text.trim()).filter(|text| may_be_printed(text))?;
    let mut parser = Parser::new(text);
    let value = parser.value()?;
    (parser.rest.is_empty() && !parser.has_others).then_some(value)
}

/// Quick look at the beginning of a text: JSON has no such quotes.
pub(super) fn may_be_printed(text: &str) -> bool {
    let begin = text.trim_start();
    let begin = begin.strip_prefix('[').map_or(begin, str::trim_start);
    begin.starts_with("{'")
}

/// Parses a dict, list, constructor call, or the fields of a pydantic model. JSON is parsed as JSON, since the same clients write it where
/// values allow.
pub(super) fn read(text: &str) -> Option<Value> {
    let text = text.trim();
    if text.starts_with(['{', '['])
        && let Some(value) = super::mend::parse(text)
    {
        return Some(value);
    }
    literal(text).or_else(|| call(text)).or_else(|| fields(text))
}

/// Parses `ChatMessage(role=.., content=..)`; if a client truncated it with `...`, the complete part.
fn call(text: &str) -> Option<Value> {
    let class = text.split('(').next()?;
    let is_class = class.chars().next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && class.chars().all(|char| char.is_alphanumeric() || matches!(char, '_' | '.'));
    if !is_class {
        return None;
    }
    match text.strip_suffix("...") {
        Some(text) => {
            let mut parser = Parser {
                rest: text,
                depth: 0,
                is_cut: true,
                has_others: false,
            };
            parser.value().filter(Value::is_object)
        }
        None => text.ends_with(')').then(|| whole(text)).flatten(),
    }
}

/// Parses `content='18C' name='get_weather'` with at least two fields.
fn fields(text: &str) -> Option<Value> {
    let mut parser = Parser::new(text);
    let mut map = Map::new();
    while !parser.rest.trim_start().is_empty() {
        let name = parser.name()?.to_owned();
        if !parser.eat("=") {
            return None;
        }
        let _ = map.insert(name, parser.value()?);
    }
    (map.len() > 1).then_some(Value::Object(map))
}

fn whole(text: &str) -> Option<Value> {
    let mut parser = Parser::new(text);
    let value = parser.value()?;
    parser.rest.trim().is_empty().then_some(value)
}

/// Parses an integer (as text beyond 64 bits) or a finite float.
fn number(text: &str) -> Option<Value> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_integer = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    let integer = text
        .parse::<i64>()
        .map(Value::from)
        .or_else(|_| text.parse::<u64>().map(Value::from))
        .ok();
    let integer = integer.or_else(|| is_integer.then(|| text.into()));
    integer.or_else(|| text.parse::<f64>().ok().and_then(serde_json::Number::from_f64).map(Value::Number))
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
    /// Whether the text ends before the value does.
    is_cut: bool,
    /// Whether it contains a constructor call or another value that is not a literal.
    has_others: bool,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            rest: text,
            depth: 0,
            is_cut: false,
            has_others: false,
        }
    }

    /// Whether the text was truncated here.
    fn ends(&self) -> bool {
        self.is_cut && self.rest.trim_start().is_empty()
    }

    /// Parses a member of a list or call; `None` inside if the text is truncated here, since a scalar may then lack its end.
    fn member(&mut self) -> Option<Option<Value>> {
        let value = self.value();
        if self.ends() {
            return Some(value.filter(|value| value.is_array() || value.is_object()));
        }
        value.map(Some)
    }

    fn eat(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self) -> Option<Value> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        self.rest = self.rest.trim_start();
        let value = match self.rest.chars().next()? {
            '{' => self.dict(),
            '[' => self.list("[", "]"),
            '(' => self.list("(", ")"),
            '<' => self.angle(),
            '\'' | '"' => self.string().map(Value::String),
            'b' if self.rest.starts_with("b'") || self.rest.starts_with("b\"") => {
                self.rest = self.rest.get(1..)?;
                self.string().map(Value::String)
            }
            _ => self.word(),
        };
        self.depth -= 1;
        value
    }

    /// Parses a dict, or a set as a list.
    fn dict(&mut self) -> Option<Value> {
        let (mut map, mut set) = (Map::new(), Vec::new());
        let _ = self.eat("{");
        while !self.eat("}") {
            let key = self.value()?;
            if self.eat(":") {
                let key = match key {
                    Value::String(text) => text,
                    other => other.to_string(),
                };
                let value = self.value()?;
                let _ = map.insert(key, value);
            } else {
                set.push(key);
            }
            if !self.eat(",") && !self.rest.starts_with('}') {
                return None;
            }
        }
        Some(if set.is_empty() { Value::Object(map) } else { Value::Array(set) })
    }

    fn list(&mut self, open: &str, close: &str) -> Option<Value> {
        let mut items = Vec::new();
        let _ = self.eat(open);
        while !self.ends() && !self.eat(close) {
            items.extend(self.member()?);
            if !self.ends() && !self.eat(",") && !self.rest.starts_with(close) {
                return None;
            }
        }
        Some(Value::Array(items))
    }

    /// Parses `<ChatRole.USER: 'user'>` as its value, and any other text in angle brackets as text.
    fn angle(&mut self) -> Option<Value> {
        self.has_others = true;
        let rest = self.rest;
        let end = rest.find('>')?;
        if let Some(colon) = rest.get(..end)?.find(": ") {
            let mut inner = Parser {
                rest: rest.get(colon + 2..)?,
                depth: self.depth,
                is_cut: false,
                has_others: false,
            };
            if let Some(value) = inner.value()
                && inner.eat(">")
            {
                self.rest = inner.rest;
                return Some(value);
            }
        }
        // `<function f at 0x1>`, `<bound method C.f of <C object at 0x1>>`.
        let mut open = 0_usize;
        for (at, char) in rest.char_indices() {
            match char {
                '<' => open += 1,
                '>' => open = open.saturating_sub(1),
                _ => continue,
            }
            if open == 0 {
                let (text, after) = rest.split_at_checked(at + 1)?;
                self.rest = after;
                return Some(text.into());
            }
        }
        None
    }

    fn string(&mut self) -> Option<String> {
        let mut chars = self.rest.char_indices();
        let (_, quote) = chars.next().filter(|(_, quote)| matches!(quote, '\'' | '"'))?;
        let mut out = String::new();
        while let Some((at, char)) = chars.next() {
            match char {
                '\\' => {
                    let (at, char) = chars.next()?;
                    let digits = match char {
                        'x' => 2,
                        'u' => 4,
                        'U' => 8,
                        _ => 0,
                    };
                    if digits > 0 {
                        let code = self.rest.get(at + 1..at + 1 + digits)?;
                        out.push(char::from_u32(u32::from_str_radix(code, 16).ok()?).unwrap_or(char::REPLACEMENT_CHARACTER));
                        let _ = chars.nth(digits - 1);
                        continue;
                    }
                    match char {
                        'n' => out.push('\n'),
                        't' => out.push('\t'),
                        'r' => out.push('\r'),
                        other @ ('\\' | '\'' | '"') => out.push(other),
                        other => out.extend(['\\', other]),
                    }
                }
                char if char == quote => {
                    self.rest = self.rest.get(at + char.len_utf8()..)?;
                    return Some(out);
                }
                char => out.push(char),
            }
        }
        self.rest = "";
        None
    }

    /// Parses an identifier, which may be dotted.
    fn name(&mut self) -> Option<&'a str> {
        self.rest = self.rest.trim_start();
        let rest = self.rest;
        let end = rest
            .find(|char: char| !(char.is_alphanumeric() || matches!(char, '_' | '.')))
            .unwrap_or(rest.len());
        let (name, after) = rest.split_at_checked(end)?;
        let starts = name.starts_with(|first: char| first.is_alphabetic() || first == '_');
        starts.then(|| {
            self.rest = after;
            name
        })
    }

    fn word(&mut self) -> Option<Value> {
        if let Some(name) = self.name() {
            return match name {
                "None" => Some(Value::Null),
                "True" => Some(true.into()),
                "False" => Some(false.into()),
                class if self.rest.starts_with('(') => {
                    self.has_others = true;
                    self.arguments(class)
                }
                enumerated => {
                    self.has_others = true;
                    Some(enumerated.into())
                }
            };
        }
        let end = self
            .rest
            .find(|char: char| matches!(char, ',' | '}' | ']' | ')' | ':') || char.is_whitespace())
            .unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        number(text)
    }

    /// Parses the arguments in parentheses after a class name.
    fn arguments(&mut self, class: &str) -> Option<Value> {
        let (mut map, mut positional) = (Map::new(), Vec::new());
        let _ = self.eat("(");
        while !self.ends() && !self.eat(")") {
            let before = self.rest;
            match self.name().map(str::to_owned) {
                Some(name) if self.eat("=") => {
                    if let Some(value) = self.member()? {
                        let _ = map.insert(name, value);
                    }
                }
                _ => {
                    self.rest = before;
                    positional.extend(self.member()?);
                }
            }
            if !self.ends() && !self.eat(",") && !self.rest.starts_with(')') {
                return None;
            }
        }
        if !positional.is_empty() && !map.contains_key("args") {
            let _ = map.insert("args".to_owned(), Value::Array(positional));
        }
        let _ = map.entry("type".to_owned()).or_insert_with(|| class.into());
        Some(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn literals() {
        assert_eq!(
            literal("{'city': 'Paris', 'n': None, 'x': [1, 2.5, True], 3: ('a',)}"),
            Some(json!({"city": "Paris", "n": null, "x": [1, 2.5, true], "3": ["a"]}))
        );
        assert_eq!(
            literal(r#"['it\'s', "\u00e9\x41", {'a', 'b'}]"#),
            Some(json!(["it's", "éA", ["a", "b"]]))
        );
        assert_eq!(literal("{'cut': 'off"), None);
        assert_eq!(literal("[the whole truth]"), None);
        assert_eq!(literal(&"[".repeat(100_000)), None);
    }

    #[test]
    fn classes_and_enums() {
        assert_eq!(
            read("ChatMessage(_role=<ChatRole.USER: 'user'>, _content=[TextContent(text='Hi')], _name=None)"),
            Some(json!({"type": "ChatMessage", "_role": "user", "_content": [{"type": "TextContent", "text": "Hi"}], "_name": null}))
        );
        assert_eq!(
            read("ToolCall(tool_name='f', fn=<function f at 0x7f>, when=datetime.date(2026, 1, 2))"),
            Some(json!({"type": "ToolCall", "tool_name": "f", "fn": "<function f at 0x7f>",
                "when": {"type": "datetime.date", "args": [2026, 1, 2]}}))
        );
        assert_eq!(read(r#"{"name": null, "ok": true}"#), Some(json!({"name": null, "ok": true})));
        assert_eq!(read("I said (a = b)"), None);
        assert_eq!(read("plain words"), None);
    }

    #[test]
    fn cut_texts_give_what_is_whole() {
        assert_eq!(
            read("Result(name='f', kwargs={'city': 'Paris'}, output=Output(blocks=[Text(text='18C')], raw={'a': 'b..."),
            Some(json!({"type": "Result", "name": "f", "kwargs": {"city": "Paris"},
                "output": {"type": "Output", "blocks": [{"type": "Text", "text": "18C"}]}}))
        );
        assert_eq!(read("Call(name='f', count=12..."), Some(json!({"type": "Call", "name": "f"})));
        assert_eq!(read("Wait..."), None);
    }

    #[test]
    fn fields_of_a_model() {
        assert_eq!(
            read("content='18C' name='get_weather' tool_call_id='call_1'"),
            Some(json!({"content": "18C", "name": "get_weather", "tool_call_id": "call_1"}))
        );
        assert_eq!(read("x=1"), None);
    }
}
