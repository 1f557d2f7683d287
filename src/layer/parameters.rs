//! Parameters of a tool function, recorded as fields by `#[instrument]`.

use opentelemetry::{Key, KeyValue, Value};
use serde_json::{Map, Value as Json};

use super::convert;
use super::debug_form;
use super::role::{FieldPlan, Role};
use crate::operation::Kind;

/// Fields without another meaning on a tool span; they become its arguments if it records no others.
#[derive(Debug, Default)]
pub(super) struct Parameters(Vec<Parameter>);

#[derive(Debug)]
struct Parameter {
    name: &'static str,
    value: Value,
    /// Whether the value is a `Debug` form.
    debug: bool,
}

impl Parameters {
    /// Whether a field has no other meaning on a tool span.
    pub(super) fn may_be(field: &FieldPlan) -> bool {
        let means_nothing = match field.role {
            Role::Plain => true,
            Role::Short(meanings) => !meanings.iter().any(|meaning| meaning.matches(Kind::Tool)),
            _ => false,
        };
        means_nothing && !field.name.contains('.')
    }

    /// Takes the value of a field that may be a parameter; returns any other value.
    pub(super) fn take(&mut self, field: &FieldPlan, value: Value, debug: bool) -> Option<Value> {
        if !Self::may_be(field) {
            return Some(value);
        }
        let name = field.name;
        self.0.push(Parameter { name, value, debug });
        None
    }

    /// Writes them as the arguments of a tool, or else each under its own name.
    pub(super) fn write(self, is_tool: bool, attributes: &mut Vec<KeyValue>) {
        if self.0.is_empty() {
            return;
        }
        if !is_tool || attributes.iter().any(|pair| pair.key.as_str() == "input.value") {
            let pairs = self.0.into_iter();
            return attributes.extend(pairs.map(|parameter| KeyValue::new(Key::from_static_str(parameter.name), parameter.value)));
        }
        let arguments: Map<String, Json> = self
            .0
            .into_iter()
            .map(|parameter| (parameter.name.to_owned(), parameter.json()))
            .collect();
        attributes.push(KeyValue::new("input.value", Json::Object(arguments).to_string()));
        attributes.push(KeyValue::new("input.mime_type", "application/json"));
    }
}

impl Parameter {
    fn json(self) -> Json {
        match self.value {
            Value::String(text) if self.debug => debug_form::of_debug(text.as_str()),
            value => convert::any_value(&value).to_json(),
        }
    }
}
