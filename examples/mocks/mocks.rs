//! Answers the tool calls of an agent from a recorded run: `spanbridge convert --to mocks traces.json > mocks.jsonl`.
//!
//! `cargo run --example mocks -- mocks.jsonl get_weather '{"city": "Paris"}'`
#![expect(clippy::print_stdout, reason = "an example")]

use std::collections::BTreeMap;
use std::error::Error;

use serde_json::{Map, Value};

/// The calls of a run, and which of them were asked for.
#[derive(Debug, Default)]
pub struct Mocks {
    calls: Vec<Value>,
    used: Vec<bool>,
    /// Names of arguments that need not be the same, by tool; `*` is for every tool.
    pub ignore: BTreeMap<String, Vec<String>>,
}

/// Why a call has no result.
#[derive(Debug, PartialEq)]
pub enum MockError {
    /// The recorded call failed.
    Failed {
        /// The recorded message.
        message: String,
        /// The recorded type of the error.
        error_type: Option<String>,
    },
    /// Nothing was recorded that answers it.
    Unknown(String),
}

impl std::fmt::Display for MockError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Failed { message, .. } | Self::Unknown(message) => f.write_str(message),
        }
    }
}

impl Error for MockError {}

impl Mocks {
    /// The mocks in the text of a file, a call a line.
    ///
    /// # Errors
    ///
    /// A line is not JSON.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let calls: Vec<Value> = lines.map(serde_json::from_str).collect::<Result<_, _>>()?;
        Ok(Self {
            used: vec![false; calls.len()],
            calls,
            ignore: BTreeMap::new(),
        })
    }

    /// The recorded result of a call: the next unused one of the same arguments, else of the same without those that [`Self::ignore`] names.
    ///
    /// # Errors
    ///
    /// The call failed, or nothing was recorded that answers it.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value, MockError> {
        let ignored = [tool, "*"].into_iter().filter_map(|name| self.ignore.get(name)).flatten();
        let ignored: Vec<String> = ignored.cloned().collect();
        let of_tool = |(_, call): &(usize, &Value)| call["tool"] == tool;
        for left_out in [&[][..], &ignored] {
            let wanted = without(arguments, left_out);
            let is_same = |(_, call): &(usize, &Value)| without(&call["arguments"], left_out) == wanted;
            let same: Vec<usize> = self
                .calls
                .iter()
                .enumerate()
                .filter(of_tool)
                .filter(is_same)
                .map(|(at, _)| at)
                .collect();
            let unused = same.iter().find(|at| self.used.get(**at) == Some(&false));
            if let Some(at) = unused.or(same.last()) {
                if let Some(used) = self.used.get_mut(*at) {
                    *used = true;
                }
                return self.calls.get(*at).map_or(Ok(Value::Null), answer);
            }
        }
        let recorded = self.calls.iter().enumerate().filter(of_tool);
        let recorded: Vec<String> = recorded.map(|(_, call)| call["arguments"].to_string()).collect();
        let known = match recorded.as_slice() {
            [] => "the tool was not called in the run".to_owned(),
            _ => format!("recorded: {}", recorded.join(", ")),
        };
        Err(MockError::Unknown(format!("no recorded call answers {tool}({arguments}); {known}")))
    }
}

/// Arguments but for these.
fn without(arguments: &Value, names: &[String]) -> Value {
    match arguments {
        Value::Object(map) => {
            let kept = map.iter().filter(|(name, _)| !names.contains(name));
            // Equal whatever their order.
            let kept: BTreeMap<String, Value> = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
            Value::Object(kept.into_iter().collect::<Map<String, Value>>())
        }
        other => other.clone(),
    }
}

fn answer(call: &Value) -> Result<Value, MockError> {
    if let Some(error) = call.get("error") {
        let text = |key: &str| error[key].as_str().map(str::to_owned);
        return Err(MockError::Failed {
            message: text("message").unwrap_or_default(),
            error_type: text("type"),
        });
    }
    let missing = || MockError::Unknown(format!("the result of {}({}) was not recorded", call["tool"], call["arguments"]));
    call.get("result").cloned().ok_or_else(missing)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, tool, call] = arguments.as_slice() else {
        return Err("usage: mocks MOCKS.jsonl TOOL ARGUMENTS".into());
    };
    let mut mocks = Mocks::parse(&std::fs::read_to_string(path)?)?;
    println!("{}", mocks.call(tool, &serde_json::from_str(call)?)?);
    Ok(())
}
