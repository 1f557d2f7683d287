//! Detects misspelt variables, which would otherwise be ignored silently.

use std::collections::BTreeSet;
use std::env;

use clap::Command;

use super::failure::Failure;

const PREFIX: &str = "SPANBRIDGE_";

/// Maximum number of differing letters. More distant names are other programs': container systems name variables after services.
const NEAR: usize = 2;

/// An error for a variable whose name is nearly that of a setting. `program` is the whole command line.
pub(super) fn check(program: &Command) -> Result<(), Failure> {
    let mut known = BTreeSet::new();
    collect(program, &mut known);
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for name in names.filter(|name| name.starts_with(PREFIX) && !known.contains(name)) {
        let distance = |one: &&String| strsim::damerau_levenshtein(one, &name);
        if let Some(near) = known.iter().min_by_key(distance).filter(|near| distance(near) <= NEAR) {
            return Err(Failure::usage(format!("there is no variable {name}; did you mean {near}?")));
        }
    }
    Ok(())
}

fn collect(command: &Command, known: &mut BTreeSet<String>) {
    let variables = command.get_arguments().filter_map(|argument| argument.get_env()?.to_str());
    known.extend(variables.map(ToOwned::to_owned));
    for command in command.get_subcommands() {
        collect(command, known);
    }
}
