//! Which form a value is of.

use serde_json::{Value, json};

use super::conditions::Conditions;
use super::read::{Read, Reader, Unread};
use super::source::Path;
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
enum Of<'f, 'v> {
    Log(&'f Form),
    One(&'f Form),
    /// Several conversations, each of a form: a list's members, or those that a form finds below the value; and what is beside those.
    Several(Vec<(&'f Form, &'v Value)>, String),
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
            Of::Several(rows, beside) => {
                let read = |(form, row): (&Form, &Value)| form.read(row, weight(row)).unwrap_or_else(|| Err(form.unlike(row)));
                let mut list: Vec<_> = rows.into_iter().map(read).collect();
                if let Some(Ok(first)) = list.first_mut().filter(|_| !beside.is_empty()) {
                    first.notes.push(format!("beside the conversations, and left out: {beside}"));
                }
                Found::Several(list)
            }
        })
    }

    /// The form of a text whose lines are its items.
    pub(crate) fn of_text(&self, text: &str) -> Option<&Form> {
        let first = json!({"line": text.lines().find(|line| !line.trim().is_empty())?});
        self.iter().find(|form| form.table.lines && form.is_of(&first))
    }

    /// The form of a log with this first value.
    pub(crate) fn log_of(&self, first: &Value) -> Option<&Form> {
        let mut logs = self.iter().filter(|form| form.table.log && !form.table.lines);
        logs.find(|form| form.is_of(first))
    }

    /// Whether a value, the first of a file, is of a form.
    pub(crate) fn know(&self, value: &Value) -> bool {
        self.find(value, true).is_some()
    }

    fn find<'v>(&self, value: &'v Value, is_first: bool) -> Option<Of<'_, 'v>> {
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
        if let Some(below) = others.iter().find_map(|known| Some((&known.form, known.form.rows_of(value)?))) {
            let (form, rows) = below;
            let rows = rows.iter().map(|row| (form, row)).collect();
            let known: Vec<&str> = form.table.rows.iter().filter_map(Path::first).collect();
            let beside = value.as_object().into_iter().flat_map(|map| map.keys());
            let beside: Vec<&str> = beside.map(String::as_str).filter(|key| !known.contains(key)).collect();
            return Some(Of::Several(rows, beside.join(", ")));
        }
        let list = value
            .as_array()
            .filter(|list| list.first().is_some_and(|first| first.is_object() || first.is_array()))?;
        let rows = list.iter().map(|row| Some((of(row)?, row))).collect::<Option<_>>()?;
        Some(Of::Several(rows, String::new()))
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
            let is_shaped = match found {
                Value::Object(_) => self.table.whole || self.table.thread.is_some(),
                Value::Array(_) => !self.table.whole,
                _ => false,
            };
            (is_shaped && self.holds(&[value, found])).then(|| (found, path.first()))
        })
    }

    /// The conversations below a value that has several.
    pub(super) fn rows_of<'v>(&self, value: &'v Value) -> Option<&'v [Value]> {
        let list = |path: &Path| Some(path.find(&[value])?.as_array()?.as_slice());
        let mut lists = self.table.rows.iter().filter_map(list);
        lists.find(|list| list.iter().any(|row| self.place_of(row).is_some()))
    }

    /// The value with the JSON texts parsed that the form says it has.
    pub(super) fn opened(&self, value: &Value) -> Option<Value> {
        let is_json = |value: Option<&Value>| value.and_then(Value::as_str).is_some_and(begins_json);
        let has_text = |path: &&Path| path.any(&[value], &mut |value| is_json(value));
        let paths: Vec<&Path> = self.table.opened.iter().filter(has_text).collect();
        (!paths.is_empty()).then(|| {
            let mut out = value.clone();
            paths.iter().for_each(|path| open_at(&mut out, &path.steps));
            out
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
        let opened = self.opened(value);
        let (value, weight) = opened.as_ref().map_or((value, weight), |opened| (opened, self::weight(opened)));
        let (items, member) = self.place_of(value)?;
        let mut reader = Reader::new(self, nested);
        reader.may_read(weight);
        reader.around(value, member);
        match &self.table.thread {
            _ if self.table.whole => reader.item(&[items]),
            Some(thread) => {
                let (way, beside) = thread.way(value, listed(items));
                way.iter().for_each(|item| reader.item(&[value, items, item]));
                reader.beside = beside;
            }
            None => listed(items).iter().for_each(|item| reader.item(&[value, items, item])),
        }
        Some(reader.finish())
    }
}

fn begins_json(text: &str) -> bool {
    text.trim_start().starts_with(['[', '{'])
}

/// Parses the JSON texts at a path.
fn open_at(value: &mut Value, steps: &[String]) {
    let Some((step, rest)) = steps.split_first() else {
        let text = value.as_str().filter(|text| begins_json(text));
        if let Some(opened) = text.and_then(|text| serde_json::from_str(text).ok()) {
            *value = opened;
        }
        return;
    };
    match (step.as_str(), value) {
        ("*", Value::Array(list)) => list.iter_mut().for_each(|item| open_at(item, rest)),
        ("*", Value::Object(map)) => map.values_mut().for_each(|item| open_at(item, rest)),
        (step, value) => value
            .pointer_mut(&format!("/{step}"))
            .into_iter()
            .for_each(|value| open_at(value, rest)),
    }
}

/// The items of a list, or of an object.
pub(super) fn listed(items: &Value) -> Vec<&Value> {
    match items {
        Value::Array(list) => list.iter().collect(),
        Value::Object(map) => map.values().collect(),
        one => vec![one],
    }
}
