//! Shell completion: the script printed by `spanbridge completions` calls the program, which offers existing traces and
//! sessions.

use std::env;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use clap::{Command, CommandFactory as _, Parser};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};

use super::failure::Failure;
use super::listed::{status, who};
use super::out;
use super::source::{Source, Where};
use super::time::second;
use crate::span::UnixNanos;
use crate::store::Filter;

/// If this variable is set, the program completes a line instead of running it.
const VARIABLE: &str = "_SPANBRIDGE_COMPLETE";
/// How long a shell waits for traces and sessions.
const COMPLETION_TIMEOUT: Duration = Duration::from_millis(700);
/// Maximum number offered.
const OFFERED: usize = 100;

/// Completes the line and exits, if a shell asks for it. `program` is the whole command line.
pub(super) fn complete(program: fn() -> Command) {
    CompleteEnv::with_factory(program).var(VARIABLE).complete();
}

/// The script that sets up completion in a shell.
pub(super) fn script(shell: &str) -> Result<Vec<u8>, Failure> {
    let shells = Shells::builtins();
    let completer = shells.completer(shell);
    let completer = completer.ok_or_else(|| Failure::usage(format!("there are no completions for {shell}")))?;
    let (mut script, name) = (Vec::new(), "spanbridge");
    out::written(completer.write_registration(VARIABLE, name, name, name, &mut script))?;
    if shell == "zsh" {
        // zsh loads a file in its `fpath` at the first completion, which must be completed, too.
        script.extend_from_slice(b"[[ $funcstack[1] = _spanbridge ]] && _clap_dynamic_completer_spanbridge \"$@\"\n");
    }
    Ok(script)
}

/// The latest traces, by their ids.
pub(super) fn traces() -> ArgValueCandidates {
    ArgValueCandidates::new(|| in_time(latest_traces))
}

/// The latest sessions.
pub(super) fn sessions() -> ArgValueCandidates {
    ArgValueCandidates::new(|| in_time(latest_sessions))
}

type Find = fn(&Source) -> Result<Vec<CompletionCandidate>, Failure>;

/// Candidates found in time; none without a store or after any failure, since a message would garble the line.
fn in_time(find: Find) -> Vec<CompletionCandidate> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let source = source_of_line().and_then(|from| from.open_silently().ok());
        let found = source.and_then(|source| find(&source).ok()).unwrap_or_default();
        let _ = sender.send(found);
    });
    let found = receiver.recv_timeout(COMPLETION_TIMEOUT).unwrap_or_default();
    let ordered = found.into_iter().enumerate();
    ordered.map(|(place, candidate)| candidate.display_order(Some(place))).collect()
}

/// The flags for where to read from.
#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    from: Where,
}

/// Where the command line being completed reads from. The line may not parse yet.
fn source_of_line() -> Option<Where> {
    let command = Line::command();
    let is_flag = |word: &str| command.get_arguments().filter_map(|flag| flag.get_long()).any(|name| name == word);
    let words = env::args_os().skip_while(|word| word != "--").skip(1);
    let mut words = words.map(|word| word.to_string_lossy().into_owned());
    let mut line = vec!["spanbridge".to_owned()];
    while let Some(word) = words.next() {
        let Some(flag) = word.strip_prefix("--") else { continue };
        match flag.split_once('=') {
            Some((name, _)) if is_flag(name) => line.push(word),
            None if is_flag(flag) => {
                line.push(word);
                line.extend(words.next());
            }
            _ => {}
        }
    }
    Line::try_parse_from(line).ok().map(|line| line.from)
}

fn latest_traces(source: &Source) -> Result<Vec<CompletionCandidate>, Failure> {
    let filter = Filter {
        limit: Some(OFFERED),
        ..Filter::default()
    };
    let listed = source.list(&filter)?;
    let offered = listed.iter().map(|listed| {
        let started = second(UnixNanos(listed.start_unix_nano));
        let help = format!("{}, {started}, {}", who(listed), status(&listed.summary));
        CompletionCandidate::new(&listed.trace_id).help(Some(one_line(&help).into()))
    });
    Ok(offered.collect())
}

fn latest_sessions(source: &Source) -> Result<Vec<CompletionCandidate>, Failure> {
    let sessions = source.sessions(Some(OFFERED), false)?;
    let offered = sessions.iter().map(|session| {
        let started = second(UnixNanos(session.start_unix_nano));
        let help = format!("{}, {started}", out::many(session.traces, "trace"));
        CompletionCandidate::new(&session.session).help(Some(help.into()))
    });
    // Control characters would reach the terminal.
    Ok(offered
        .filter(|candidate| candidate.get_value().to_str().is_some_and(|id| !id.contains(char::is_control)))
        .collect())
}

fn one_line(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}
