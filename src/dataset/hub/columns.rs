//! Infers the column types of JSON rows, to declare them in the head of a data card. Without a declaration, `datasets` infers them from
//! the first rows, and its versions differ in how they treat members missing from these.

use serde_json::Value;

use crate::hash::HashMap;

/// The type of a column's values so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Column {
    /// Only missing or null values.
    #[default]
    Empty,
    Scalar(&'static str),
    List(Box<Self>),
    Struct(Members),
    /// Values of several types.
    Mixed,
}

/// The members of objects, in order of first occurrence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Members {
    list: Vec<(String, Column)>,
    places: HashMap<String, usize>,
}

impl Members {
    fn add(&mut self, name: &str, value: &Value) {
        let place = match self.places.get(name) {
            Some(place) => *place,
            None => {
                let place = self.list.len();
                self.list.push((name.to_owned(), Column::Empty));
                self.places.insert(name.to_owned(), place);
                place
            }
        };
        if let Some((_, column)) = self.list.get_mut(place) {
            column.add(value);
        }
    }
}

impl Column {
    /// Adds a value of the column.
    pub(super) fn add(&mut self, value: &Value) {
        match (&mut *self, value) {
            (_, Value::Null) => {}
            (Self::List(item), Value::Array(items)) => items.iter().for_each(|value| item.add(value)),
            (Self::Struct(members), Value::Object(object)) => object.iter().for_each(|(name, value)| members.add(name, value)),
            (Self::Empty, _) => {
                *self = Self::of(value);
                if matches!(self, Self::List(_) | Self::Struct(_)) {
                    self.add(value);
                }
            }
            (known, value) => {
                let new = Self::of(value);
                *known = match (&*known, &new) {
                    (known, new) if known == new => new.clone(),
                    (Self::Scalar("int64"), Self::Scalar("float64")) | (Self::Scalar("float64"), Self::Scalar("int64")) => {
                        Self::Scalar("float64")
                    }
                    _ => Self::Mixed,
                };
            }
        }
    }

    /// The type of a value, without its content.
    fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Empty,
            Value::Bool(_) => Self::Scalar("bool"),
            Value::Number(number) if number.is_i64() => Self::Scalar("int64"),
            Value::Number(_) => Self::Scalar("float64"),
            Value::String(_) => Self::Scalar("string"),
            Value::Array(_) => Self::List(Box::default()),
            Value::Object(_) => Self::Struct(Members::default()),
        }
    }

    /// The paths of members with values of several types.
    pub(super) fn mixed(&self) -> Vec<String> {
        fn look(column: &Column, path: &str, found: &mut Vec<String>) {
            match column {
                Column::Mixed => found.push(path.trim_start_matches('.').to_owned()),
                Column::List(item) => look(item, &format!("{path}[]"), found),
                Column::Struct(members) => {
                    for (name, column) in &members.list {
                        look(column, &format!("{path}.{name}"), found);
                    }
                }
                Column::Empty | Column::Scalar(_) => {}
            }
        }
        let mut found = Vec::new();
        look(self, "", &mut found);
        found
    }

    /// The columns of rows, as YAML; `None` if there are none.
    pub(super) fn features(&self) -> Option<String> {
        let Self::Struct(members) = self else { return None };
        let mut out = String::new();
        members_as_yaml(&members.list, 2, &mut out);
        Some(out)
    }

    /// The type as YAML, after a name or in a list.
    fn as_yaml(&self, indent: usize, out: &mut String) {
        let blanks = " ".repeat(indent);
        match self {
            Self::Empty | Self::Mixed => out.push_str(&format!("{blanks}dtype: string\n")),
            Self::Scalar(name) => out.push_str(&format!("{blanks}dtype: {name}\n")),
            Self::List(item) => match &**item {
                Self::Struct(members) => {
                    out.push_str(&format!("{blanks}list:\n"));
                    members_as_yaml(&members.list, indent, out);
                }
                Self::Scalar(name) => out.push_str(&format!("{blanks}list: {name}\n")),
                Self::Empty | Self::Mixed => out.push_str(&format!("{blanks}list: string\n")),
                Self::List(_) => {
                    out.push_str(&format!("{blanks}list:\n"));
                    item.as_yaml(indent + 2, out);
                }
            },
            Self::Struct(members) => {
                out.push_str(&format!("{blanks}struct:\n"));
                members_as_yaml(&members.list, indent, out);
            }
        }
    }
}

fn members_as_yaml(members: &[(String, Column)], indent: usize, out: &mut String) {
    for (name, column) in members {
        out.push_str(&format!("{}- name: {name:?}\n", " ".repeat(indent)));
        column.as_yaml(indent + 2, out);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_have_the_types_of_all_rows() {
        let mut rows = Column::default();
        rows.add(&json!({"messages": [{"role": "user", "content": null}], "score": 1}));
        rows.add(&json!({"messages": [{"role": "tool", "content": "x", "parts": [[1]]}], "score": 0.5, "empty": []}));
        assert_eq!(rows.mixed(), Vec::<String>::new());
        let wanted = "  - name: \"messages\"\n    list:\n    - name: \"role\"\n      dtype: string\n    - name: \"content\"\n      dtype: string\n    \
                      - name: \"parts\"\n      list:\n        list: int64\n  - name: \"score\"\n    dtype: float64\n  - name: \"empty\"\n    list: string\n";
        assert_eq!(rows.features().as_deref(), Some(wanted));
        rows.add(&json!({"messages": [{"content": [{"type": "text"}]}]}));
        assert_eq!(rows.mixed(), ["messages[].content"]);
    }
}
