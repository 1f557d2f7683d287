//! `import --sessions`: the sessions of coding agents, where their clients keep them.

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;

use clap::Args;

use super::failure::Failure;
use super::out;
use super::time::moment;
use crate::sessions::{self, Client};

/// Which sessions of this home are taken.
#[derive(Debug, Args)]
pub(super) struct Home {
    /// Find the sessions of coding agents where their clients keep them (below the home folder, or where CODEX_HOME,
    /// CLAUDE_CONFIG_DIR and the like point), and ask before they are read.
    #[arg(long)]
    sessions: bool,
    /// Take only sessions of this client, with --sessions. Repeatable.
    #[arg(long, value_name = "CLIENT", value_parser = client_of, requires = "sessions")]
    client: Vec<Client>,
    /// Take only session files that changed since then, with --sessions: 7d, 2h, 2026-11-21.
    #[arg(long, value_name = "TIME", value_parser = moment, requires = "sessions")]
    since: Option<u64>,
    /// Do not ask, with --sessions.
    #[arg(long, requires = "sessions")]
    yes: bool,
}

fn client_of(word: &str) -> Result<Client, String> {
    let names: Vec<&str> = Client::ALL.iter().map(|client| client.name()).collect();
    let known = Client::ALL.into_iter().find(|client| client.name() == word);
    known.ok_or_else(|| format!("the clients are {}", names.join(", ")))
}

impl Home {
    /// The files to read; `None`: the flags ask for none, or the user declined.
    pub(super) fn find(&self) -> Result<Option<Vec<PathBuf>>, Failure> {
        if !self.sessions {
            return Ok(None);
        }
        let mut looked = Vec::new();
        let mut files: BTreeMap<Client, Vec<PathBuf>> = BTreeMap::new();
        for client in self.clients() {
            let folders = folders_of(std::iter::once(client))?;
            looked.extend(folders.iter().map(|folder| folder.display().to_string()));
            for folder in folders.into_iter().filter(|folder| folder.is_dir()) {
                let below = sessions::below(&folder).map_err(|error| Failure::usage(out::with_causes(&error)))?;
                let found = below.into_iter().filter(|file| self.is_recent(file));
                let found = found.filter(|file| sessions::recognised(file).is_some());
                files.entry(client).or_default().extend(found);
            }
        }
        files.retain(|_, files| !files.is_empty());
        if looked.is_empty() {
            let names: Vec<&str> = self.clients().map(Client::name).collect();
            return Err(Failure::usage(format!(
                "{} keeps its sessions in no one folder: give import the files or the folder that has them",
                names.join(", ")
            )));
        }
        if files.is_empty() {
            out::note(&format!("no session files of coding agents in {}", looked.join(", ")));
            return Ok(Some(Vec::new()));
        }
        for (client, files) in &files {
            out::note(&format!("{}: {}", client.name(), out::many(files.len(), "session file")));
        }
        if !self.yes && !agreed()? {
            return Ok(Some(Vec::new()));
        }
        Ok(Some(files.into_values().flatten().collect()))
    }

    /// The folders with sessions; `None`: the flags ask for none.
    pub(super) fn folders(&self) -> Result<Option<Vec<PathBuf>>, Failure> {
        if !self.sessions {
            return Ok(None);
        }
        folders_of(self.clients()).map(Some)
    }

    fn clients(&self) -> impl Iterator<Item = Client> + '_ {
        let wanted = |client: &Client| self.client.is_empty() || self.client.contains(client);
        Client::ALL.into_iter().filter(wanted)
    }

    fn is_recent(&self, file: &std::path::Path) -> bool {
        let Some(since) = self.since else { return true };
        let changed = file.metadata().and_then(|metadata| metadata.modified()).ok();
        let changed = changed.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
        changed.is_some_and(|changed| changed.as_nanos() >= u128::from(since))
    }
}

fn home() -> Result<PathBuf, Failure> {
    let home = env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    home.ok_or_else(|| Failure::usage("HOME is not set: there is no folder with sessions of coding agents"))
}

/// Where these clients keep their sessions, whether or not the folders exist.
pub(super) fn folders_of(clients: impl Iterator<Item = Client>) -> Result<Vec<PathBuf>, Failure> {
    let home = home()?;
    let folders = clients.flat_map(|client| client.places().folders(&home));
    Ok(folders.collect())
}

/// Asks for confirmation on the terminal.
fn agreed() -> Result<bool, Failure> {
    let answer = out::ask(
        "these files hold what people and agents wrote, and may hold secrets; import them? [y/N]",
        "these files hold what people and agents wrote, and may hold secrets; pass --yes to import them",
    )?;
    Ok(matches!(answer.as_str(), "y" | "Y" | "yes"))
}
