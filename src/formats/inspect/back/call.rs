//! Reads a model call's parameters and token counts.

use serde_json::{Map, Value, json};

use crate::formats::back::{At, Result};
use crate::operation::TokenCount;

/// The parameters of a model call, under their usual names.
pub(super) fn parameters(at: &At<'_>) -> Result<Map<String, Value>> {
    let mut out = Map::new();
    for (key, value) in at.object_of("config")? {
        let key = match key.as_str() {
            "stop_seqs" => "stop",
            "num_choices" => "n",
            key => key,
        };
        if !value.is_null() {
            out.insert(key.to_owned(), value);
        }
    }
    let choice = match at.value.get("tool_choice") {
        Some(Value::String(word)) if word == "any" => Some(Value::from("required")),
        Some(Value::String(word)) if word == "none" => Some(Value::from("none")),
        Some(Value::Object(named)) => named
            .get("name")
            .map(|name| json!({"type": "function", "function": {"name": name}})),
        _ => None,
    };
    out.extend(choice.map(|choice| ("tool_choice".to_owned(), choice)));
    Ok(out)
}

/// Inspect counts cached tokens separately from the input; before 0.3.185, for some providers, as part of it, which the total reveals.
pub(super) fn usage(counts: Option<&Value>) -> TokenCount {
    let count = |key: &str| counts.and_then(|counts| counts.get(key)?.as_u64());
    let (read, write) = (count("input_tokens_cache_read"), count("input_tokens_cache_write"));
    let cached = read.unwrap_or(0).saturating_add(write.unwrap_or(0));
    let (input, output, total) = (count("input_tokens"), count("output_tokens"), count("total_tokens"));
    let is_in_it = total.is_some() && total == input.zip(output).map(|(input, output)| input.saturating_add(output));
    TokenCount {
        input: input.map(|input| if is_in_it { input } else { input.saturating_add(cached) }),
        output,
        total,
        cache_read: read,
        cache_write: write,
        reasoning: count("reasoning_tokens"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_shows_whether_the_input_has_what_the_cache_gave() {
        let input = |total: u64| {
            usage(Some(
                &json!({"input_tokens": 6, "output_tokens": 5, "total_tokens": total, "input_tokens_cache_read": 4}),
            ))
            .input
        };
        assert_eq!((input(15), input(11)), (Some(10), Some(6)));
        assert_eq!(
            usage(Some(&json!({"input_tokens": 6, "input_tokens_cache_read": 4}))).input,
            Some(10)
        );
    }
}
