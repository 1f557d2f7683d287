//! `spanbridge formats`: the document formats, what each contains and loses, and its options.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::failure::Failure;
use super::format_options::format_of;
use super::offer::{self, offering};
use super::out::{self, Style, styled};
use crate::formats::{self, AnyFormat, Choice};

const EXAMPLES: &str = "\
Examples:
  spanbridge formats
  spanbridge formats invariant
  spanbridge formats atif --schema > atif.schema.json
  spanbridge formats --json | jq -r '.options[].name'";

/// List the document formats, what each contains and loses, and its options.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Formats {
    /// Show only this format.
    #[arg(value_name = "FORMAT", value_parser = offering(format_of, offer::formats()), hide_possible_values = true)]
    format: Option<&'static AnyFormat>,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
    /// Print a JSON Schema (draft 2020-12) of the format's documents: the fields and types that `check` demands.
    #[arg(long, requires = "format", conflicts_with = "json")]
    schema: bool,
}

impl Formats {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let mut first = true;
        let all = formats::all();
        for format in all.filter(|format| self.format.is_none_or(|chosen| chosen.id == format.id)) {
            if self.schema {
                out::line(&schema(format)?)?;
            } else if self.json {
                out::line(&as_json(format))?;
            } else {
                if !std::mem::take(&mut first) {
                    out::line("")?;
                }
                lines(format).iter().try_for_each(|line| out::line(line))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn schema(format: &AnyFormat) -> Result<String, Failure> {
    let schema = format.schema().ok_or_else(|| Failure::Usage {
        message: format!("{} has no schema: its files are those of another program", format.id),
    })?;
    Ok(format!("{schema:#}"))
}

fn lines(format: &AnyFormat) -> Vec<String> {
    let mut lines = vec![styled(format.id, Style::Strong)];
    lines.push(format!("  keeps  {}", format.keeps));
    lines.push(format!("  loses  {}", format.loses));
    lines.extend(format.options.iter().flat_map(option));
    lines
}

fn option(choice: &Choice) -> [String; 2] {
    let variable = choice.variable.map_or_else(String::new, |name| format!(" [env: {name}]"));
    [
        format!("  --option {}={}", choice.name, choice.values),
        format!("         {} [default: {}]{variable}", choice.meaning, choice.default),
    ]
}

fn as_json(format: &AnyFormat) -> String {
    let options = format.options.iter().map(|choice| {
        json!({
            "name": choice.name,
            "values": choice.values.to_string(),
            "default": choice.default,
            "meaning": choice.meaning,
            "env": choice.variable,
        })
    });
    json!({
        "format": format.id,
        "keeps": format.keeps,
        "loses": format.loses,
        "options": options.collect::<Vec<_>>(),
    })
    .to_string()
}
