//! Splits text into tokens.

use super::error::{ExpressionError, Fault};
use super::quote::is_word;

/// A token of an expression, with its byte range.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) start: usize,
    pub(super) end: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum TokenKind {
    /// Ends with a dot if quoted text follows immediately: `score."a b"`.
    Word(String),
    Quoted(String),
    Operator(&'static str),
    Open,
    Close,
}

/// Operators of other languages, with their equivalents here. Longer ones first.
const MEANT: [(&str, &str); 8] = [
    ("===", "="),
    ("==", "="),
    ("=~", "~"),
    ("~=", "~"),
    ("<>", "!="),
    ("&&", "and"),
    ("||", "or"),
    ("!", "not"),
];

/// Longer ones first.
const OPERATORS: [&str; 7] = ["!=", "<=", ">=", "=", "<", ">", "~"];

/// The tokens of a text.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, ExpressionError> {
    let (mut tokens, mut at) = (Vec::new(), 0);
    while let Some(rest) = text.get(at..)
        && let Some(letter) = rest.chars().next()
    {
        let start = at;
        let meant = MEANT.into_iter().find(|(written, _)| rest.starts_with(written));
        if let Some((written, meant)) = meant.filter(|_| !rest.starts_with("!=")) {
            let place = at..at + written.len();
            return Err(ExpressionError::new(text, place, Fault::Meant { meant }));
        }
        let kind = match letter {
            _ if letter.is_whitespace() => {
                at += letter.len_utf8();
                continue;
            }
            '(' => TokenKind::Open,
            ')' => TokenKind::Close,
            '"' | '\'' => {
                let (words, length) = quotation(text, at, letter)?;
                at += length;
                tokens.push(token(TokenKind::Quoted(words), start, at));
                continue;
            }
            _ if is_word(letter) => {
                let length = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
                let mut word = rest.get(..length).unwrap_or_default().to_owned();
                at += length;
                let quote = text
                    .get(at..)
                    .and_then(|rest| rest.chars().next())
                    .filter(|next| "\"'".contains(*next));
                match quote {
                    Some(quote) if word.ends_with('.') => {
                        let (words, length) = quotation(text, at, quote)?;
                        word.push_str(&words);
                        at += length;
                    }
                    Some(_) => return Err(ExpressionError::new(text, at..at + 1, Fault::QuoteInWord)),
                    None => {}
                }
                tokens.push(token(TokenKind::Word(word), start, at));
                continue;
            }
            _ => match OPERATORS.into_iter().find(|operator| rest.starts_with(operator)) {
                Some(operator) => TokenKind::Operator(operator),
                None => return Err(ExpressionError::new(text, at..at + 1, Fault::Letter { letter })),
            },
        };
        at += match kind {
            TokenKind::Operator(operator) => operator.len(),
            _ => 1,
        };
        tokens.push(token(kind, start, at));
    }
    Ok(tokens)
}

fn token(kind: TokenKind, start: usize, end: usize) -> Token {
    Token { kind, start, end }
}

/// The quoted text that begins here, and its length in bytes including the quotes.
fn quotation(text: &str, at: usize, quote: char) -> Result<(String, usize), ExpressionError> {
    let inside = text.get(at + 1..).unwrap_or_default();
    let mut words = String::new();
    let mut letters = inside.char_indices().peekable();
    while let Some((offset, letter)) = letters.next() {
        match letter {
            '\\' => match letters.next_if(|(_, next)| ['\\', '"', '\''].contains(next)) {
                Some((_, escaped)) => words.push(escaped),
                None => words.push('\\'),
            },
            _ if letter == quote => return Ok((words, offset + 2)),
            _ => words.push(letter),
        }
    }
    Err(ExpressionError::new(text, at..text.len(), Fault::OpenQuote))
}
