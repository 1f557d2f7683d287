//! Text that rules keep as recorded, to be parsed only when its value is needed.

use crate::dialect::raw::Raw;
use crate::dialect::rule::{Field, Rule};
use crate::dialect::texts::Opened;
use crate::dialect::{normalize, python};
use crate::operation::Recorded;
use crate::span::AnyValue;
use crate::withheld::is_printed_object;

/// The text, if it can stay unparsed until its value is needed; not if an earlier rule already parsed it.
pub(super) fn text_to_keep<'a>(rule: &Rule, raw: &Raw<'a>, opened: Option<&Opened>) -> Option<&'a str> {
    if !rule.keeps_json() {
        return None;
    }
    // Text printed by Python was parsed to look for messages in it.
    json_text(raw).filter(|text| !opened.is_some_and(Opened::is_left) || python::may_be_printed(text))
}

/// Whether a rule keeps the text as recorded; [`recorded`] then gives the same value as [`decode`].
pub(in crate::dialect) fn takes_text(rule: &Rule, raw: &Raw<'_>, opened: Option<&Opened>) -> bool {
    if let Raw::Value(_, AnyValue::String(text)) = raw
        && is_only_printed(rule, text)
    {
        return false;
    }
    let is_plain = |text: &str| {
        !text.trim_start().starts_with(['{', '[', '"']) && !text.is_empty() && !normalize::is_withheld(text) && !is_null_input(rule, text)
    };
    text_to_keep(rule, raw, opened).is_some() || rule.keeps_json() && matches!(raw, Raw::Value(_, AnyValue::String(text)) if is_plain(text))
}

/// Whether a text that should be a person's or model's words is only a printed value. A tool may return such a text.
pub(super) fn is_only_printed(rule: &Rule, text: &str) -> bool {
    let is_said = matches!(
        rule.field,
        Field::Input | Field::Output | Field::InputMessages | Field::OutputMessages | Field::System
    );
    is_said && (is_printed_object(text) || is_only_a_key(text))
}

/// Whether a text is what LangSmith's exporter writes if it mistakes a message for a pair: the name of the first member.
fn is_only_a_key(text: &str) -> bool {
    matches!(text, r#"{"content":"role"}"# | r#"{"content": "role"}"#)
}

/// Whether a text is a null argument, which is no one's words.
pub(super) fn is_null_input(rule: &Rule, text: &str) -> bool {
    matches!(rule.field, Field::Input | Field::InputMessages | Field::ToolArguments) && text.trim() == "null"
}

/// Wraps a text that a rule keeps as recorded.
pub(in crate::dialect) fn recorded(text: String) -> Recorded {
    if text.trim_start().starts_with(['{', '[']) {
        Recorded::text(text)
    } else {
        text.into()
    }
}

/// The text, if it looks like a JSON object or list.
pub(super) fn json_text<'a>(raw: &Raw<'a>) -> Option<&'a str> {
    let text: &'a str = match raw {
        Raw::Value(_, AnyValue::String(text)) => text,
        Raw::JsonText(text) => text,
        _ => return None,
    };
    (text.trim_start().starts_with(['{', '[']) && !normalize::is_withheld(text)).then_some(text)
}
