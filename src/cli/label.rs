//! `spanbridge label`: people's notes, labels and scores.

use std::process::ExitCode;

use clap::Args;

use super::complete;
use super::data_set::{EXPRESSIONS, expression};
use super::failure::Failure;
use super::out;
use super::select::{Select, trace_id};
use super::source::{Source, Where, ids_of};
use crate::span::TraceId;
use crate::web::NewEvaluation;
use crate::web::listing::Listed;

const EXAMPLES: &str = "\
VALUE is a score if it is a number, else a label. Of one name, step and person the last judgement counts: to correct one, give it again. \
A judgement that was corrected or deleted stays in the run's history. It is stored as a span of its own, which is no step of the run.

A running server stores it; its token needs the right `annotate`, and is the person. Without a server, the data directory is changed \
directly.

Examples:
  spanbridge label 5b8e feedback=good
  spanbridge label 5b8e help=0.25 --note 'It never says why' --by ana
  spanbridge label 5b8e 9f01 feedback=bad                      two runs
  spanbridge label 5b8e feedback=bad --step 0005000100000001   a step of it
  spanbridge label 5b8e --delete feedback
  spanbridge label --where 'failures > 0 and not has(label.triage)' triage=open --dry-run";

/// Label runs and steps, or correct and delete labels.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXPRESSIONS}"))]
pub(super) struct Label {
    /// The runs, by id or the first digits of it, and what is judged.
    #[arg(value_name = "RUN|NAME=VALUE", required = true, add = complete::traces())]
    words: Vec<String>,
    /// Why, or any note.
    #[arg(long, value_name = "TEXT", conflicts_with = "delete")]
    note: Option<String>,
    /// Judge this step, by the id of its span, instead of the run.
    #[arg(long, value_name = "ID")]
    step: Option<String>,
    /// Who judges. Where a server requires tokens, the token's name replaces it.
    #[arg(long, value_name = "NAME", env = "SPANBRIDGE_ANNOTATOR")]
    by: Option<String>,
    /// Delete the judgement of this name. Repeatable.
    #[arg(long, value_name = "NAME")]
    delete: Vec<String>,
    /// Judge all runs for which this is true. The end of this help lists fields and operators.
    #[arg(long = "where", value_name = "EXPRESSION", conflicts_with = "step")]
    filter: Option<String>,
    #[command(flatten)]
    select: Select,
    /// Only print what would be judged.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    from: Where,
}

impl Label {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let (judged, names): (Vec<&str>, Vec<&str>) = self.words.iter().map(String::as_str).partition(|word| word.contains('='));
        let mut said: Vec<NewEvaluation> = judged.iter().map(|text| self.judgement(text)).collect::<Result<_, _>>()?;
        said.extend(self.delete.iter().map(|name| NewEvaluation {
            name: Some(name.clone()),
            withdraw: true,
            ..self.nothing()
        }));
        if said.is_empty() {
            return Err(Failure::usage(
                "there is nothing to judge: pass NAME=VALUE, for example feedback=good, or --delete NAME",
            ));
        }
        if names.is_empty() == self.filter.is_none() {
            return Err(Failure::usage("pass the id of a run, or --where and not both"));
        }
        let source = if self.dry_run {
            self.from.open()?
        } else {
            self.from.open_to_annotate()?
        };
        for id in self.runs(&source, &names)? {
            for one in &said {
                if !self.dry_run {
                    source.annotate(id, one)?;
                }
                let done = if self.dry_run { "would be judged" } else { "judged" };
                out::line(&format!("{id}  {done}  {}", in_words(one)))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    fn runs(&self, source: &Source, names: &[&str]) -> Result<Vec<TraceId>, Failure> {
        let Some(text) = &self.filter else {
            return names.iter().map(|name| trace_id(source, name)).collect();
        };
        let expression = expression("--where", text)?;
        let has_agents = |listed: &Listed| listed.summary.agent_work;
        let found = source.list_of_runs(&self.select.filter(), &has_agents, &expression)?;
        if found.is_empty() {
            out::note("no runs match");
        }
        Ok(ids_of(&found))
    }

    fn nothing(&self) -> NewEvaluation {
        NewEvaluation {
            span_id: self.step.clone(),
            annotator: self.by.clone(),
            ..NewEvaluation::default()
        }
    }

    fn judgement(&self, text: &str) -> Result<NewEvaluation, Failure> {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        if name.is_empty() || value.trim().is_empty() {
            return Err(Failure::usage(format!(
                "{text} is not NAME=VALUE; --delete NAME takes a judgement back"
            )));
        }
        let score: Option<f64> = value.parse().ok().filter(|score: &f64| score.is_finite());
        Ok(NewEvaluation {
            name: Some(name.to_owned()),
            label: score.is_none().then(|| value.to_owned()),
            score,
            explanation: self.note.clone(),
            ..self.nothing()
        })
    }
}

fn in_words(said: &NewEvaluation) -> String {
    let name = out::shown(said.name.as_deref().unwrap_or_default(), 40);
    let value = said.score.map(|score| score.to_string()).or(said.label.clone());
    match value {
        Some(value) => format!("{name}={}", out::shown(&value, 80)),
        None => format!("{name} deleted"),
    }
}
