//! Values parsed as JSON.

use serde_json::{Map, Value};

use super::kept_text::is_only_printed;
use crate::dialect::mend::{self, Ends, Mended};
use crate::dialect::normalize;
use crate::dialect::raw::Raw;
use crate::dialect::rule::{Field, Rule};
use crate::span::AnyValue;

/// Which incomplete texts a rule accepts. A tool's result, like other words, may be text that the tool itself shortened.
pub(super) fn ends(rule: &Rule) -> Ends {
    match rule.field {
        Field::InputMessages | Field::OutputMessages | Field::System | Field::ToolDefinitions | Field::ToolArguments => Ends::Marked,
        _ => Ends::Cut,
    }
}

/// A native list or map, or text. JSON text is parsed, other text stays.
pub(super) fn json(rule: &Rule, raw: &Raw<'_>, mended: &mut Mended) -> Option<Value> {
    match raw {
        Raw::Value(_, AnyValue::String(text)) => {
            if normalize::is_withheld(text) || is_only_printed(rule, text) {
                return None;
            }
            // Our own keys quote a text that looks like JSON once; it must not be taken for JSON that a client quoted twice.
            if rule.dialect == "spanbridge"
                && text.starts_with('"')
                && let Ok(own) = serde_json::from_str::<String>(text)
            {
                return Some(own.into());
            }
            Some(normalize::open_json_noting(text, ends(rule), mended))
        }
        Raw::Value(_, value) => Some(value.to_json()),
        Raw::Name(name) => Some((*name).into()),
        Raw::JsonText(text) => Some(mend::parse_noting(text, ends(rule), mended).unwrap_or_else(|| Value::String((*text).to_owned()))),
        Raw::Event(event) => {
            let mut map: Map<String, Value> = event.attributes.iter().map(|(key, value)| (key.clone(), value.to_json())).collect();
            if let Some(body) = event.body.filter(|body| !body.is_empty()) {
                let _ = map.insert("body".to_owned(), body.to_json());
            }
            let _ = map.insert("time".to_owned(), event.time.0.into());
            Some(Value::Object(map))
        }
        Raw::Group(_) | Raw::Events(_) | Raw::Body(..) => None,
    }
}
