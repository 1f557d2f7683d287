//! Values in the format of node's `util.inspect`.

/// Maximum nesting, well above node's default for spans. OTLP/JSON needs up to four levels for each.
const MAX_DEPTH: usize = 32;

/// Maximum bytes of what precedes a brace.
const MAX_NAME_BYTES: usize = 200;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shown {
    Undefined,
    Null,
    Bool(bool),
    /// The number as it was printed.
    Number(String),
    /// The text, and whether node truncated it.
    Text(String, bool),
    /// The items of a list, and whether node truncated it.
    List(Vec<Shown>, bool),
    /// The members in their order.
    Object(Vec<(String, Shown)>),
    /// A placeholder without the value: `[Object]`, `[Circular *1]`, `[Function: f]`.
    Cut,
}

/// A list or object that is still being read.
enum Open {
    List(Vec<Shown>, bool),
    /// The members, the key of the next value, and the items of a set, which have no keys.
    Object(Vec<(String, Shown)>, Option<String>, Vec<Shown>),
}

impl Shown {
    /// A member of an object.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text, _) => Some(text),
            _ => None,
        }
    }

    pub(super) fn items(&self) -> &[Self] {
        match self {
            Self::List(items, _) => items,
            _ => &[],
        }
    }

    /// Parses a text that holds exactly one value.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut reader = Parser { text, at: 0 };
        let mut open: Vec<Open> = Vec::new();
        loop {
            let value = match reader.begin(&mut open)? {
                Begun::Open => {
                    if open.len() > MAX_DEPTH {
                        return None;
                    }
                    continue;
                }
                Begun::Value(value) => value,
                Begun::Closed => open.pop()?.close(),
            };
            match open.last_mut() {
                None => {
                    reader.space();
                    return reader.rest().is_empty().then_some(value);
                }
                Some(Open::List(items, _)) => items.push(value),
                Some(Open::Object(members, key, items)) => match key.take() {
                    Some(key) => members.push((key, value)),
                    None => items.push(value),
                },
            }
            reader.space();
            let _ = reader.eat(",");
        }
    }
}

impl Open {
    fn close(self) -> Shown {
        match self {
            Self::List(items, is_cut) => Shown::List(items, is_cut),
            Self::Object(members, _, items) if members.is_empty() && !items.is_empty() => Shown::List(items, false),
            Self::Object(mut members, _, items) => {
                // `... 3 more items` of a map
                members.extend(items.into_iter().map(|item| ("...".to_owned(), item)));
                Shown::Object(members)
            }
        }
    }
}

enum Begun {
    /// A list or object was opened.
    Open,
    Value(Shown),
    /// The innermost list or object was closed.
    Closed,
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn eat(&mut self, words: &str) -> bool {
        let found = self.rest().starts_with(words);
        self.at += if found { words.len() } else { 0 };
        found
    }

    /// The rest of the line, at most as long as the longest name of node's, so that searches in it are bounded.
    fn near(&self) -> &'t str {
        let rest = self.rest();
        let near = rest.get(..rest.floor_char_boundary(MAX_NAME_BYTES)).unwrap_or_default();
        near.split('\n').next().unwrap_or_default()
    }

    fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Reads the start or all of a value, or a closing bracket.
    fn begin(&mut self, open: &mut Vec<Open>) -> Option<Begun> {
        self.space();
        match open.last_mut() {
            Some(Open::List(_, is_cut)) => {
                // `... 3 more items`, `<2 empty items>`
                while self.eat("... ") || self.is_empty_items() {
                    *is_cut = true;
                    self.skip_bare();
                    let _ = self.eat(",");
                    self.space();
                }
                if self.eat("]") {
                    return Some(Begun::Closed);
                }
            }
            Some(Open::Object(_, key, _)) => {
                if self.eat("}") {
                    return Some(Begun::Closed);
                }
                if self.eat("... ") {
                    self.skip_bare();
                    return Some(Begun::Value(Shown::Cut));
                }
                *key = self.key()?;
                self.space();
            }
            None => {}
        }
        self.class();
        if self.eat("{") {
            open.push(Open::Object(Vec::new(), None, Vec::new()));
            return Some(Begun::Open);
        }
        let is_list = self
            .rest()
            .strip_prefix('[')
            .is_some_and(|rest| rest.starts_with([' ', '\n', '\r', ']']));
        if is_list && self.eat("[") {
            open.push(Open::List(Vec::new(), false));
            return Some(Begun::Open);
        }
        self.plain().map(Begun::Value)
    }

    /// `<2 empty items>`
    fn is_empty_items(&self) -> bool {
        let near = self.near();
        near.starts_with('<') && near.split_once('>').is_some_and(|(items, _)| items.contains(" empty item"))
    }

    /// Reads a key and its separator; `None` if a value follows, as in a set.
    #[expect(clippy::option_option, reason = "no key is not a broken one")]
    fn key(&mut self) -> Option<Option<String>> {
        let before = self.at;
        let name = match self.rest().chars().next()? {
            '\'' | '"' | '`' => self.quoted()?,
            '[' => {
                let Some((name, _)) = self.near().split_once(']') else {
                    return Some(None);
                };
                self.at += name.len() + 1;
                format!("{name}]")
            }
            _ => {
                let is_of_name = |letter: char| letter.is_alphanumeric() || "_$-+.".contains(letter);
                let name = self.rest().split(|letter| !is_of_name(letter)).next()?;
                self.at += name.len();
                name.to_owned()
            }
        };
        if self.eat(":") || self.eat(" =>") {
            return Some(Some(name));
        }
        self.at = before;
        Some(None)
    }

    /// Skips class names and references: `Resource {`, `Map(1) {`, `[Object: null prototype] {`, `<ref *1> {`.
    fn class(&mut self) {
        let line = self.near();
        let Some(end) = line
            .find(['{', '\'', '"', '`', ','])
            .filter(|end| line.get(*end..).is_some_and(|rest| rest.starts_with('{')))
        else {
            // `Uint8Array(3) [`
            if let Some((name, _)) = line.split_once(" [")
                && name.ends_with(')')
                && name.starts_with(|letter: char| letter.is_ascii_uppercase())
                && name
                    .chars()
                    .all(|letter| letter.is_alphanumeric() || letter == '(' || letter == ')')
            {
                self.at += name.len() + 1;
            }
            return;
        };
        let name = line.get(..end).unwrap_or_default();
        let is_name = name.ends_with(' ') && name.starts_with(|letter: char| letter.is_alphabetic() || "<[_$".contains(letter));
        if is_name && !name.starts_with("[ ") {
            self.at += end;
        }
    }

    /// Reads a text, number or word, or a truncated value.
    fn plain(&mut self) -> Option<Shown> {
        let rest = self.rest();
        if rest.starts_with(['\'', '"', '`']) {
            return self.text();
        }
        if rest.starts_with(['[', '<']) {
            let end = rest
                .find([']', '>', '\n'])
                .filter(|end| !rest.get(*end..).is_some_and(|rest| rest.starts_with('\n')))?;
            self.at += end + 1;
            return Some(Shown::Cut);
        }
        let word = rest.split([',', '\n', ' ']).next().unwrap_or_default().trim_end();
        if word.is_empty() {
            return None;
        }
        self.at += word.len();
        Some(match word {
            "undefined" => Shown::Undefined,
            "null" => Shown::Null,
            "true" => Shown::Bool(true),
            "false" => Shown::Bool(false),
            "NaN" | "Infinity" | "-Infinity" => Shown::Number(word.to_owned()),
            _ if word.starts_with(|letter: char| letter == '-' || letter.is_ascii_digit()) => {
                let number = word.strip_suffix('n').unwrap_or(word);
                if number.parse::<f64>().is_ok() {
                    Shown::Number(number.to_owned())
                } else {
                    // A timestamp.
                    Shown::Text(word.to_owned(), false)
                }
            }
            _ => {
                self.skip_bare();
                Shown::Cut
            }
        })
    }

    /// Reads a text that may continue on further lines: `'a\n' +`.
    fn text(&mut self) -> Option<Shown> {
        let mut out = self.quoted()?;
        loop {
            if self.rest().starts_with("... ") {
                self.skip_bare();
                return Some(Shown::Text(out, true));
            }
            let before = self.at;
            if !self.eat(" +") {
                return Some(Shown::Text(out, false));
            }
            self.space();
            if !self.rest().starts_with(['\'', '"', '`']) {
                self.at = before;
                return Some(Shown::Text(out, false));
            }
            out.push_str(&self.quoted()?);
        }
    }

    /// Skips to the end of the item, which may share a line with its list: `[ 1, ... 3 more items ]`.
    fn skip_bare(&mut self) {
        let rest = self.rest();
        let end = rest.find([',', '\n', ']', '}']).unwrap_or(rest.len());
        self.at += rest.get(..end).unwrap_or_default().trim_end().len();
    }

    fn quoted(&mut self) -> Option<String> {
        let mut letters = self.rest().char_indices();
        let (_, quote) = letters.next()?;
        let mut out = String::new();
        while let Some((at, letter)) = letters.next() {
            match letter {
                _ if letter == quote => {
                    self.at += at + quote.len_utf8();
                    return Some(out);
                }
                '\\' => match letters.next()?.1 {
                    'n' => out.push('\n'),
                    't' => out.push('\t'),
                    'r' => out.push('\r'),
                    'b' => out.push('\u{8}'),
                    'f' => out.push('\u{c}'),
                    'v' => out.push('\u{b}'),
                    'x' => out.push(code(&mut letters, 2)?),
                    'u' => out.push(code(&mut letters, 4)?),
                    other => out.push(other),
                },
                _ => out.push(letter),
            }
        }
        None
    }
}

/// The character with this code; half a surrogate pair becomes the replacement character.
fn code(letters: &mut std::str::CharIndices<'_>, digits: usize) -> Option<char> {
    let mut number = 0;
    for _ in 0..digits {
        number = number * 16 + letters.next()?.1.to_digit(16)?;
    }
    Some(char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER))
}
