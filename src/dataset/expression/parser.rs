//! Parses tokens by recursive descent. The grammar has three levels, and the value of a comparison is parsed by the type of its
//! field, while its position is known. A parser library would not make this shorter.

use std::ops::Range;

use super::error::{ExpressionError, Fault};
use super::field::{Field, duration_of};
use super::lexer::{Token, TokenKind, tokens};
use super::tree::{Expression, Pattern, Relation, Sameness};
use crate::run::RunStatus;
use crate::span::UnixNanos;

/// Maximum nesting depth of brackets and `not`.
const DEPTH_LIMIT: usize = 100;

impl Expression {
    /// Parses an expression. `moment` parses times to compare with `start`, in nanoseconds since 1970.
    ///
    /// # Errors
    ///
    /// The text is not a valid expression; the error points at the place.
    pub fn parse(text: &str, moment: &dyn Fn(&str) -> Result<u64, String>) -> Result<Self, ExpressionError> {
        let tokens = tokens(text)?;
        if tokens.is_empty() {
            return Err(ExpressionError::new(text, 0..0, Fault::Empty));
        }
        let mut parser = Parser {
            text,
            tokens: &tokens,
            depth: 0,
            moment,
        };
        let expression = parser.expression()?;
        match parser.tokens {
            [] => Ok(expression),
            _ => Err(parser.expected("`and`, `or` or the end")),
        }
    }
}

/// Words of other languages where an operator is expected, with their equivalents here.
const WORDS: [(&str, &str); 7] = [
    ("is", "="),
    ("eq", "="),
    ("equals", "="),
    ("contains", "~ '*TEXT*'"),
    ("like", "~ 'PATTERN'"),
    ("matches", "~ 'PATTERN'"),
    ("in", "= for each value, with `or` between"),
];

struct Parser<'t> {
    text: &'t str,
    tokens: &'t [Token],
    depth: usize,
    moment: &'t dyn Fn(&str) -> Result<u64, String>,
}

impl<'t> Parser<'t> {
    fn next(&mut self) -> Option<&'t Token> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(first)
    }

    fn place(&self) -> Range<usize> {
        let end = self.text.len();
        self.tokens.first().map_or(end..end, |token| token.start..token.end)
    }

    fn error(&self, place: Range<usize>, fault: Fault) -> ExpressionError {
        ExpressionError::new(self.text, place, fault)
    }

    fn expected(&self, wanted: &'static str) -> ExpressionError {
        self.error(self.place(), Fault::Expected { wanted })
    }

    fn takes_word(&mut self, wanted: &str) -> bool {
        let is_next = matches!(self.tokens.first(), Some(Token { kind: TokenKind::Word(word), .. }) if word.eq_ignore_ascii_case(wanted));
        if is_next {
            let _ = self.next();
        }
        is_next
    }

    fn takes(&mut self, wanted: &TokenKind) -> bool {
        let is_next = self.tokens.first().is_some_and(|token| token.kind == *wanted);
        if is_next {
            let _ = self.next();
        }
        is_next
    }

    fn expression(&mut self) -> Result<Expression, ExpressionError> {
        let mut list = vec![self.all()?];
        while self.takes_word("or") {
            list.push(self.all()?);
        }
        Ok(one_or(list, Expression::Any))
    }

    fn all(&mut self) -> Result<Expression, ExpressionError> {
        let mut list = vec![self.one()?];
        while self.takes_word("and") {
            list.push(self.one()?);
        }
        Ok(one_or(list, Expression::All))
    }

    fn one(&mut self) -> Result<Expression, ExpressionError> {
        let place = self.place();
        if self.takes_word("not") {
            let one = self.deeper(place, Self::one)?;
            return Ok(Expression::Not(Box::new(one)));
        }
        if self.takes(&TokenKind::Open) {
            let inside = self.deeper(place.clone(), Self::expression)?;
            return self.closes(place, inside);
        }
        if self.takes_word("has") {
            let bracket = self.place();
            if !self.takes(&TokenKind::Open) {
                return Err(self.expected("`(` and a field"));
            }
            let (field, _) = self.field()?;
            return self.closes(bracket, Expression::Has(field));
        }
        self.comparison()
    }

    fn deeper(
        &mut self,
        place: Range<usize>,
        read: impl FnOnce(&mut Self) -> Result<Expression, ExpressionError>,
    ) -> Result<Expression, ExpressionError> {
        if self.depth == DEPTH_LIMIT {
            return Err(self.error(place, Fault::Depth { limit: DEPTH_LIMIT }));
        }
        self.depth += 1;
        let inside = read(self);
        self.depth -= 1;
        inside
    }

    fn closes(&mut self, bracket: Range<usize>, inside: Expression) -> Result<Expression, ExpressionError> {
        if self.takes(&TokenKind::Close) {
            return Ok(inside);
        }
        match self.tokens {
            [] => Err(self.error(bracket, Fault::OpenBracket)),
            _ => Err(self.expected("`and`, `or` or `)`")),
        }
    }

    fn field(&mut self) -> Result<(Field, &'t str), ExpressionError> {
        let place = self.place();
        let Some(TokenKind::Word(name)) = self.tokens.first().map(|token| &token.kind) else {
            return Err(self.expected("a field, `not`, `has` or `(`"));
        };
        let field = Field::of(name).ok_or_else(|| self.error(place, Fault::Field { name: name.clone() }))?;
        let _ = self.next();
        Ok((field, name))
    }

    fn comparison(&mut self) -> Result<Expression, ExpressionError> {
        let (field, name) = self.field()?;
        let operator_place = self.place();
        let Some(TokenKind::Operator(operator)) = self.tokens.first().map(|token| &token.kind) else {
            let word = self.tokens.first().and_then(|token| match &token.kind {
                TokenKind::Word(word) => WORDS.iter().find(|(written, _)| word.eq_ignore_ascii_case(written)),
                _ => None,
            });
            return Err(match word {
                Some((_, meant)) => self.error(self.place(), Fault::Meant { meant }),
                None => self.expected("an operator: = != < <= > >= ~"),
            });
        };
        let _ = self.next();
        let value_place = self.place();
        let Some(TokenKind::Word(value) | TokenKind::Quoted(value)) = self.tokens.first().map(|token| &token.kind) else {
            return Err(self.expected("a value"));
        };
        let _ = self.next();
        let by = |operators| {
            let field = name.to_owned();
            self.error(operator_place.clone(), Fault::Operator { field, operators })
        };
        let with = |wanted: String| {
            let field = name.to_owned();
            self.error(value_place.clone(), Fault::Value { field, wanted })
        };
        let sameness = sameness_of(operator);
        let relation = || relation_of(operator).ok_or_else(|| by("= != < <= > >="));
        Ok(match field {
            Field::Status => {
                let sameness = sameness.ok_or_else(|| by("= and !="))?;
                let status = RunStatus::ALL.into_iter().find(|status| status.name() == value);
                Expression::Status(sameness, status.ok_or_else(|| with("ok, error, cancelled or running".to_owned()))?)
            }
            Field::Text(field) => match sameness {
                Some(sameness) => Expression::Text(field, sameness, value.clone()),
                None if *operator == "~" => {
                    let pattern = Pattern::new(value).ok_or_else(|| with("a shorter pattern".to_owned()))?;
                    Expression::Like(field, pattern)
                }
                None => return Err(by("= != and ~")),
            },
            Field::Number(field) => {
                let number = value.parse::<f64>().ok().filter(|number| number.is_finite());
                Expression::Number(field, relation()?, number.ok_or_else(|| with("a number".to_owned()))?)
            }
            Field::Duration => {
                let nanos = duration_of(value).ok_or_else(|| with("a duration: 200ms, 1.5s, 2m, 1h, 7d".to_owned()))?;
                Expression::Duration(relation()?, nanos)
            }
            Field::Start => {
                let relation = relation()?;
                let at = (self.moment)(value).map_err(|wanted| with(format!("a time: {wanted}")))?;
                Expression::Start(relation, UnixNanos(at))
            }
        })
    }
}

fn one_or(mut list: Vec<Expression>, many: fn(Vec<Expression>) -> Expression) -> Expression {
    match list.pop() {
        Some(one) if list.is_empty() => one,
        last => {
            list.extend(last);
            many(list)
        }
    }
}

fn sameness_of(operator: &str) -> Option<Sameness> {
    match operator {
        "=" => Some(Sameness::Equal),
        "!=" => Some(Sameness::Different),
        _ => None,
    }
}

fn relation_of(operator: &str) -> Option<Relation> {
    Some(match operator {
        "=" => Relation::Equal,
        "!=" => Relation::Different,
        "<" => Relation::Less,
        "<=" => Relation::AtMost,
        ">" => Relation::More,
        ">=" => Relation::AtLeast,
        _ => return None,
    })
}
