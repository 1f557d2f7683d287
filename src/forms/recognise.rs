//! Which form a value is of.

use serde_json::{Value, json};

use super::conditions::Conditions;
use super::read::{Read, Reader, Unread};
use super::table::Form;

/// Forms, by which values are recognised.
#[derive(Debug)]
pub(crate) struct Forms(Vec<Known>);

#[derive(Debug)]
struct Known {
    form: Form,
    /// The names without which each of its conditions cannot hold.
    names: Vec<Names>,
}

/// A set of names: one bit of each, so others may seem to be in it, but none that is in it seems not to be.
#[derive(Debug, Clone, Copy, Default)]
struct Names([u64; 8]);

impl Names {
    fn add(&mut self, name: &str) {
        let bit = crate::hash::of_text(name);
        if let Some(word) = self.0.get_mut((bit >> 6) as usize & 7) {
            *word |= 1 << (bit & 63);
        }
    }

    fn has(self, others: Self) -> bool {
        self.0.iter().zip(others.0).all(|(own, other)| own & other == other)
    }

    /// Adds the names in a value, and counts its values.
    fn of(&mut self, value: &Value) -> usize {
        let mut open = vec![value];
        let mut count = 0;
        while let Some(value) = open.pop() {
            count += 1;
            match value {
                Value::Array(list) => open.extend(list),
                Value::Object(map) => {
                    for (key, value) in map {
                        self.add(key);
                        match value {
                            Value::Array(_) | Value::Object(_) => open.push(value),
                            _ => count += 1,
                        }
                    }
                }
                _ => {}
            }
        }
        count
    }
}

/// How many values a value has.
pub(super) fn weight(value: &Value) -> usize {
    Names::default().of(value)
}

/// What was read of a value.
#[derive(Debug)]
pub(crate) enum Found<'f> {
    /// The first value of a log.
    Log(&'f Form),
    /// One conversation.
    One(Result<Read, Unread>),
    /// A list of conversations.
    Several(Vec<Result<Read, Unread>>),
}

/// Which form a value is of.
enum Of<'f> {
    Log(&'f Form),
    One(&'f Form),
    /// A list, each of whose members is of a form.
    Several(Vec<&'f Form>),
}

impl Forms {
    /// These forms. Of several that a value could be of the first is taken.
    pub(crate) fn of(forms: Vec<Form>) -> Self {
        let known = |form: Form| {
            let names = form.table.is.iter().map(|conditions| {
                let mut names = Names::default();
                conditions.names(&mut |name| names.add(name));
                names
            });
            Known {
                names: names.collect(),
                form,
            }
        };
        Self(forms.into_iter().map(known).collect())
    }

    /// The forms.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Form> {
        self.0.iter().map(|known| &known.form)
    }

    /// Reads a value of a form; `None` if it is of none. `is_first`: of a file, whose values may be a log together.
    pub(crate) fn read(&self, value: &Value, is_first: bool) -> Option<Found<'_>> {
        Some(match self.find(value, is_first)? {
            Of::Log(form) => Found::Log(form),
            Of::One(form) => Found::One(form.read(value, weight(value))?),
            Of::Several(forms) => {
                let rows = value.as_array().into_iter().flatten().zip(forms);
                Found::Several(rows.map(|(row, form)| form.read(row, weight(row))).collect::<Option<_>>()?)
            }
        })
    }

    /// The form of a text whose lines are its items.
    pub(crate) fn of_text(&self, text: &str) -> Option<&Form> {
        let first = json!({"line": text.lines().find(|line| !line.trim().is_empty())?});
        self.iter().find(|form| form.table.lines && form.is_of(&first))
    }

    /// Whether a value, the first of a file, is of a form.
    pub(crate) fn know(&self, value: &Value) -> bool {
        self.find(value, true).is_some()
    }

    fn find(&self, value: &Value, is_first: bool) -> Option<Of<'_>> {
        let mut names = Names::default();
        names.of(value);
        let maybe = || {
            let of_values = self.0.iter().filter(|known| !known.form.table.lines);
            of_values.filter(move |known| known.names.iter().any(|needed| names.has(*needed)))
        };
        if is_first {
            let first = match value {
                Value::Array(list) => list.first().unwrap_or(value),
                one => one,
            };
            let is_it = |known: &&Known| known.form.table.log && known.form.is_of(first);
            if let Some(known) = maybe().find(is_it) {
                return Some(Of::Log(&known.form));
            }
        }
        let others: Vec<&Known> = maybe().filter(|known| !known.form.table.log).collect();
        let of = |value: &Value| others.iter().map(|known| &known.form).find(|form| form.place_of(value).is_some());
        if let Some(form) = of(value) {
            return Some(Of::One(form));
        }
        let list = value
            .as_array()
            .filter(|list| list.first().is_some_and(|first| first.is_object() || first.is_array()))?;
        list.iter().map(of).collect::<Option<_>>().map(Of::Several)
    }

    /// The messages of a list in one of these forms.
    pub(super) fn read_messages(&self, list: &Value) -> Option<Vec<Value>> {
        let mut names = Names::default();
        let weight = names.of(list);
        let maybe = self.0.iter().filter(|known| !known.form.table.log && !known.form.table.whole);
        let mut maybe = maybe.filter(|known| known.names.iter().any(|needed| names.has(*needed)));
        let known = maybe.find(|known| known.form.place_of(list).is_some())?;
        let mut reader = Reader::new(&known.form, nested);
        reader.may_read(weight);
        for item in list.as_array().into_iter().flatten() {
            reader.item(&[list, item]);
        }
        Some(reader.messages())
    }

    /// The form whose conditions a value comes nearest to, and the first that it fails.
    pub(crate) fn nearest(&self, value: &Value) -> Option<(&Form, String)> {
        let scored = self
            .iter()
            .filter_map(|form| Some((form, form.near(value).filter(|(score, _)| *score >= NEAR)?)));
        // The first of those that are as near.
        let best = scored.reduce(|best, other| if other.1.0 > best.1.0 { other } else { best })?;
        Some((best.0, best.1.1))
    }
}

/// A form is near where so many of a hundred conditions hold.
const NEAR: usize = 60;

/// The messages of a list in any form that is known.
pub(super) fn nested(list: &Value) -> Option<Vec<Value>> {
    Forms::built_in().read_messages(list)
}

impl Form {
    /// Whether a value is of this form, where its items are not looked for.
    pub(super) fn is_of(&self, value: &Value) -> bool {
        self.holds(&[value])
    }

    /// Whether the last of these values, each in the one before, is of this form.
    fn holds(&self, around: &[&Value]) -> bool {
        let any = |list: &[Conditions]| list.iter().any(|conditions| conditions.hold(around));
        any(&self.table.is) && !any(&self.table.is_not)
    }

    /// Where a value has its items, with the member that has them.
    fn place_of<'v>(&self, value: &'v Value) -> Option<(&'v Value, Option<&str>)> {
        self.table.at.iter().find_map(|path| {
            let found = path.find(&[value])?;
            let is_shaped = if self.table.whole { found.is_object() } else { found.is_array() };
            (is_shaped && self.holds(&[value, found])).then(|| (found, path.first()))
        })
    }

    /// Where a value has its items.
    pub(super) fn items_of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.place_of(value).map(|(items, _)| items)
    }

    /// Why a value is not of this form.
    pub(super) fn unlike(&self, value: &Value) -> Unread {
        let failing = self.near(value).map(|(_, failing)| failing);
        Unread {
            form: self.name.clone(),
            reads: self.reads().to_owned(),
            problem: failing.map_or_else(
                || "it has nothing where the table has `at`".to_owned(),
                |failing| format!("nothing fits at `{failing}`, which `is` asks for"),
            ),
        }
    }

    /// How many of a hundred of its conditions hold at most, and the first that does not.
    fn near(&self, value: &Value) -> Option<(usize, String)> {
        let values: Vec<&Value> = match self.table.log {
            true => vec![value.as_array().and_then(|list| list.first()).unwrap_or(value)],
            false => self.table.at.iter().filter_map(|path| path.find(&[value])).collect(),
        };
        let tried = values
            .into_iter()
            .flat_map(|value| self.table.is.iter().map(move |conditions| (conditions, value)));
        let scored = tried.map(|(conditions, value)| (conditions.holding(&[value]), conditions, value));
        let (score, conditions, value) = scored.max_by_key(|(score, ..)| *score)?;
        Some((score, conditions.failing(&[value])?))
    }

    /// Reads a value that is of this form.
    pub(super) fn read(&self, value: &Value, weight: usize) -> Option<Result<Read, Unread>> {
        let (items, member) = self.place_of(value)?;
        let mut reader = Reader::new(self, nested);
        reader.may_read(weight);
        reader.around(value, member);
        match items {
            Value::Array(list) if !self.table.whole => list.iter().for_each(|item| reader.item(&[value, items, item])),
            one => reader.item(&[one]),
        }
        Some(reader.finish())
    }
}
