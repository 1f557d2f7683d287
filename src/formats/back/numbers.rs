//! Integers beyond 64 bits. A [`Value`] holds the nearest double instead; the digits are kept here, by that double, or by place if
//! one double represents several integers.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde::ser::{Error as _, SerializeMap as _, SerializeSeq as _};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

use crate::json_tokens::{Kind, Tokens};

/// The digits of integers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::formats) struct Numbers {
    /// Digits by the JSON text of the double that represents them.
    digits: BTreeMap<String, String>,
    /// Doubles that represent several integers.
    ambiguous: BTreeSet<String>,
    /// Digits of ambiguous doubles, by JSON pointer.
    places: BTreeMap<String, String>,
}

/// No double has more digits before the decimal point.
const MAX_DIGITS: usize = 310;

/// The JSON text of the double that a number is read as; `None` if it is read as an integer.
fn as_double(token: &str) -> Option<String> {
    let is_kept = token != "-0" && (token.parse::<i64>().is_ok() || token.parse::<u64>().is_ok());
    let number = token.parse::<f64>().ok().filter(|_| !is_kept && token.len() <= MAX_DIGITS)?;
    Number::from_f64(number).map(|number| number.to_string())
}

fn is_integer(token: &str) -> bool {
    let digits = token.strip_prefix('-').unwrap_or(token);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

impl Numbers {
    /// The large integers of a JSON text, and of the value parsed from it.
    pub(in crate::formats) fn in_text(text: &str, value: &Value) -> Self {
        let mut this = Self::default();
        this.add_text(text);
        if !this.ambiguous.is_empty() {
            // A repeated key leaves fewer values than tokens; then no place is known.
            let mut all = Vec::new();
            places(value, String::new(), &mut all);
            let tokens: Vec<&str> = numbers(text).collect();
            let pairs = all.into_iter().zip(&tokens).filter(|_| tokens.len() == count(value));
            let large =
                pairs.filter(|(_, token)| is_integer(token) && as_double(token).is_some_and(|double| this.ambiguous.contains(&double)));
            let large: Vec<(String, String)> = large.map(|(place, token)| (place, (*token).to_owned())).collect();
            this.places.extend(large);
        }
        this
    }

    /// The numbers with a fraction or an exponent that have more digits than a double holds.
    pub(in crate::formats) fn rounded(text: &str) -> impl Iterator<Item = &str> {
        // A double keeps any 15 digits, and up to 17 if they were written from a double.
        let digits = |token: &str| {
            let mantissa = token.split(['e', 'E']).next().unwrap_or_default();
            let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
            digits.trim_matches('0').len()
        };
        numbers(text).filter(move |token| token.len() > 17 && !is_integer(token) && digits(token) > 17)
    }

    /// Adds the integers of a JSON text, without their places.
    pub(in crate::formats) fn add_text(&mut self, text: &str) {
        let mut others = BTreeSet::new();
        for token in numbers(text) {
            // Doubles below this do not represent an integer that is too large; most numbers end here.
            let is_small = token.len() < 18 && token != "-0" && !token.contains(['e', 'E']);
            let Some(double) = Some(token).filter(|_| !is_small).and_then(as_double) else {
                continue;
            };
            if is_integer(token) {
                self.add(double, token.to_owned());
            } else {
                others.insert(double);
            }
        }
        self.ambiguous
            .extend(others.into_iter().filter(|double| self.digits.contains_key(double)));
    }

    fn add(&mut self, double: String, digits: String) {
        match self.digits.get(&double) {
            Some(known) if *known != digits => {
                self.ambiguous.insert(double);
            }
            _ => {
                self.digits.insert(double, digits);
            }
        }
    }

    /// Adds the integers of another document, without their places.
    pub(in crate::formats) fn extend(&mut self, other: &Self) {
        for (double, digits) in &other.digits {
            self.add(double.clone(), digits.clone());
        }
        self.ambiguous.extend(other.ambiguous.iter().cloned());
    }

    /// Takes the places below this pointer, relative to it.
    pub(in crate::formats) fn take_places(&mut self, other: &Self, below: &str) {
        // Places below the pointer are adjacent in the map.
        let from = format!("{below}/");
        let places = other.places.range(from.clone()..).take_while(|(place, _)| place.starts_with(&from));
        let inner = |(place, digits): (&String, &String)| Some((place.strip_prefix(below)?.to_owned(), digits.clone()));
        self.places.extend(places.filter_map(inner));
    }

    /// The integers in this value. `as_it_came`: places refer to this value.
    pub(in crate::formats) fn of_value(&self, value: &Value, as_it_came: bool) -> Self {
        let mut found = Self::default();
        if self.digits.is_empty() {
            return found;
        }
        self.look(value, &mut found);
        if as_it_came {
            let is_there = |(place, digits): &(&String, &String)| {
                let double = value.pointer(place).filter(|value| value.is_f64()).map(Value::to_string);
                double.is_some() && double == as_double(digits)
            };
            let places = self.places.iter().filter(is_there);
            found.places = places.map(|(place, digits)| (place.clone(), digits.clone())).collect();
        }
        found
    }

    fn look(&self, value: &Value, found: &mut Self) {
        match value {
            Value::Object(map) => map.values().for_each(|value| self.look(value, found)),
            Value::Array(list) => list.iter().for_each(|value| self.look(value, found)),
            Value::Number(number) if number.is_f64() => {
                let double = number.to_string();
                if let Some(digits) = self.digits.get(&double) {
                    if self.ambiguous.contains(&double) {
                        found.ambiguous.insert(double.clone());
                    }
                    found.digits.insert(double, digits.clone());
                }
            }
            _ => {}
        }
    }

    /// The digits of a double at this place, if known.
    fn of(&self, number: &Number, place: &str) -> Option<&str> {
        if !number.is_f64() {
            return None;
        }
        let double = number.to_string();
        let of_double = || self.digits.get(&double).filter(|_| !self.ambiguous.contains(&double));
        let here = self.places.get(place).filter(|digits| as_double(digits).as_ref() == Some(&double));
        here.or_else(of_double).map(String::as_str)
    }

    fn is_empty(&self) -> bool {
        self.digits.is_empty() && self.places.is_empty()
    }

    /// Doubles that represent one integer, with its digits.
    pub(in crate::formats) fn kept(&self) -> impl Iterator<Item = (&str, &str)> {
        let kept = self.digits.iter().filter(|(double, _)| !self.ambiguous.contains(*double));
        kept.map(|(double, digits)| (double.as_str(), digits.as_str()))
    }

    /// Doubles that represent several integers, and whether the places of these are known.
    pub(in crate::formats) fn ambiguous(&self) -> impl Iterator<Item = (&str, bool)> {
        let placed: HashSet<String> = self.places.values().filter_map(|digits| as_double(digits)).collect();
        self.ambiguous.iter().map(move |double| (double.as_str(), placed.contains(double)))
    }

    /// The JSON form for the attribute: pointers begin with a slash, doubles do not.
    pub(super) fn to_json(&self) -> Map<String, Value> {
        let kept = self.kept().map(|(double, digits)| (double.to_owned(), digits.into()));
        let placed = self.places.iter().map(|(place, digits)| (place.clone(), digits.as_str().into()));
        kept.chain(placed).collect()
    }

    /// Reads the attribute. Anyone can send one, so digits are only accepted if they are read as that double.
    pub(super) fn from_json(kept: &Value) -> Self {
        let mut this = Self::default();
        for (key, digits) in kept.as_object().into_iter().flatten() {
            let Some(digits) = digits.as_str().filter(|digits| is_integer(digits)) else {
                continue;
            };
            match as_double(digits) {
                Some(double) if double == *key => drop(this.digits.insert(double, digits.to_owned())),
                Some(_) if key.starts_with('/') => drop(this.places.insert(key.clone(), digits.to_owned())),
                _ => {}
            }
        }
        this
    }
}

/// The number of numbers in a value.
fn count(value: &Value) -> usize {
    match value {
        Value::Object(map) => map.values().map(count).sum(),
        Value::Array(list) => list.iter().map(count).sum(),
        Value::Number(_) => 1,
        _ => 0,
    }
}

/// The places of all numbers, in text order.
fn places(value: &Value, at: String, out: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| places(value, below(&at, key), out)),
        Value::Array(list) => (0..)
            .zip(list)
            .for_each(|(index, value): (usize, _)| places(value, format!("{at}/{index}"), out)),
        Value::Number(_) => out.push(at),
        _ => {}
    }
}

/// The pointer to a member.
fn below(at: &str, key: &str) -> String {
    format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// The numbers of a JSON text.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    let bare = Tokens::of(text.as_bytes()).filter(|token| token.kind == Kind::Bare);
    bare.filter_map(|token| text.get(token.range))
        .filter(|word| word.starts_with(|first: char| first == '-' || first.is_ascii_digit()))
}

/// A document written with exact digits.
#[derive(Debug)]
pub(in crate::formats) struct Exact<'a> {
    value: &'a Value,
    numbers: &'a Numbers,
    /// The place of the value, if places are known.
    place: String,
}

impl<'a> Exact<'a> {
    pub(in crate::formats) fn new(value: &'a Value, numbers: &'a Numbers) -> Self {
        Self {
            value,
            numbers,
            place: String::new(),
        }
    }

    fn inner(&self, value: &'a Value, place: impl FnOnce(&str) -> String) -> Self {
        let place = if self.numbers.places.is_empty() {
            String::new()
        } else {
            place(&self.place)
        };
        Self {
            value,
            numbers: self.numbers,
            place,
        }
    }
}

impl Serialize for Exact<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.numbers.is_empty() {
            return self.value.serialize(serializer);
        }
        match self.value {
            Value::Object(map) => {
                let mut out = serializer.serialize_map(Some(map.len()))?;
                for (key, value) in map {
                    out.serialize_entry(key, &self.inner(value, |at| below(at, key)))?;
                }
                out.end()
            }
            Value::Array(list) => {
                let mut out = serializer.serialize_seq(Some(list.len()))?;
                for (index, value) in list.iter().enumerate() {
                    out.serialize_element(&self.inner(value, |at| format!("{at}/{index}")))?;
                }
                out.end()
            }
            Value::Number(number) => match self.numbers.of(number, &self.place) {
                Some(digits) => RawValue::from_string(digits.to_owned())
                    .map_err(S::Error::custom)?
                    .serialize(serializer),
                None => number.serialize(serializer),
            },
            other => other.serialize(serializer),
        }
    }
}

/// A document as it was imported, restored with what its import kept beside the spans.
#[derive(Debug)]
pub(in crate::formats) struct Restored {
    pub(in crate::formats) document: Value,
    pub(in crate::formats) numbers: Numbers,
}

impl Serialize for Restored {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Exact::new(&self.document, &self.numbers).serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back(text: &str) -> String {
        let value: Value = serde_json::from_str(text).unwrap_or_default();
        let numbers = Numbers::in_text(text, &value).of_value(&value, true);
        let numbers = Numbers::from_json(&numbers.to_json().into());
        serde_json::to_string(&Exact::new(&value, &numbers)).unwrap_or_default()
    }

    #[test]
    fn integers_beyond_64_bits_come_back() {
        for text in [
            "1180591620717411303425",
            "-9223372036854775809",
            "18446744073709551616",
            "[-0,0,-1,0.5]",
            r#"{"a":[1180591620717411303425,"1180591620717411303426 \" 7",{"b":-1180591620717411303425}],"c":1.5,"d":18446744073709551615}"#,
            r#"{"a/b~":[1180591620717411303425,1180591620717411303424],"c":1.1805916207174113e+21,"d":1180591620717411303425}"#,
        ] {
            assert_eq!(back(text), text);
        }
    }

    /// With a key twice the places are not known.
    #[test]
    fn a_double_that_stands_for_several_numbers_stays_a_double_where_places_are_not_known() {
        let text = r#"{"a":1,"a":1180591620717411303425,"b":1180591620717411303424}"#;
        assert_eq!(back(text), r#"{"a":1.1805916207174113e+21,"b":1.1805916207174113e+21}"#);
    }

    #[test]
    fn digits_of_another_number_are_not_taken() {
        let said = serde_json::json!({"1.1805916207174113e+21": "7", "1e30": "1e30", "1.5": "\"", "2e22": 3, "/a": "12"});
        assert_eq!(Numbers::from_json(&said), Numbers::default());
        let placed = Numbers::from_json(&serde_json::json!({"/a": "1180591620717411303425"}));
        let other = serde_json::json!({"a": 1.5});
        assert_eq!(
            serde_json::to_string(&Exact::new(&other, &placed)).unwrap_or_default(),
            r#"{"a":1.5}"#
        );
    }
}
