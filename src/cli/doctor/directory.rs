//! The data directory: existence, owner, free space, and whether its file system keeps synced data.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use super::finding::{Findings, size};
use super::processes::{self, Process};
use crate::cli::held::quoted;

/// With less free space, a busy bridge fills the disk within a day.
const LITTLE: u64 = 1 << 30;
/// With less free space, a large request may not fit.
const TOO_LITTLE: u64 = 64 << 20;

/// File systems that report data as synced although a crash may lose it, and why.
const LIARS: &[(&str, &str)] = &[
    ("tmpfs", "it is in memory: a restart of the machine deletes it"),
    ("ramfs", "it is in memory: a restart of the machine deletes it"),
    ("overlay", "it is a container's own layer: it is deleted with the container"),
    ("nfs", "locks and syncs are only as reliable as the file server"),
    ("nfs4", "locks and syncs are only as reliable as the file server"),
    ("cifs", "locks and syncs are only as reliable as the file server"),
    ("smb3", "locks and syncs are only as reliable as the file server"),
    ("9p", "the host may keep synced data in memory"),
    ("virtiofs", "the host may keep synced data in memory"),
    ("fuse", "whether a sync reaches a disk depends on the program that provides it"),
];

/// Checks the directory, and returns the process that writes to it.
pub(super) fn check(directory: &Path, found: &mut Findings) -> Option<Process> {
    let shown = directory.display();
    let Ok(data) = fs::metadata(directory) else {
        let above = nearest(directory);
        found.ok(format!("{shown} does not exist yet; serve creates it"));
        if !writable(&above) {
            found.wrong(
                format!("it cannot be created: this user cannot write to {}", above.display()),
                "serve does not start",
                format!("sudo install -d -m 0700 -o \"$(id -u)\" {}", quoted(directory)),
            );
        }
        room(&above, found);
        return None;
    };
    if !data.is_dir() {
        let mend = "pass another directory: serve --data-dir DIR";
        found.wrong(format!("{shown} is not a directory"), "serve needs a directory there", mend);
        return None;
    }
    let holder = processes::holder(directory);
    match &holder {
        Some(process) => found.ok(format!("{shown}; {process} writes to it")),
        None => found.ok(format!("{shown}; no server writes to it")),
    }
    permissions(directory, &data, found);
    room(directory, found);
    file_system(directory, found);
    holder
}

/// The directory itself, or its nearest existing ancestor.
fn nearest(directory: &Path) -> PathBuf {
    let absolute = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let mut above = absolute.ancestors();
    above.find(|path| path.is_dir()).unwrap_or(Path::new("/")).to_owned()
}

fn writable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK).is_ok()
}

fn permissions(directory: &Path, data: &fs::Metadata, found: &mut Findings) {
    let (owner, me) = (data.uid(), geteuid().as_raw());
    if !writable(directory) {
        let place = directory.display();
        found.wrong(
            format!("this user cannot write to {place} (its owner is user {owner}, this is user {me})"),
            "serve does not start as this user; reading may fail too",
            format!(
                "sudo -u '#{owner}' spanbridge doctor   (or: sudo chown -R {me} {})",
                quoted(directory)
            ),
        );
    }
    let others: Vec<String> = files(directory)
        .into_iter()
        .filter(|(_, file)| file.uid() != owner)
        .map(|(name, _)| name)
        .collect();
    if let Some(first) = others.first() {
        let count = others.len();
        found.wrong(
            format!("{count} files belong to another user than the directory, for example {first}"),
            "a server that runs as the owner of the directory cannot write to them; a command that ran as root may have created them",
            format!("sudo chown -R {owner} {}", quoted(directory)),
        );
    }
    let mode = data.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        found.warning(
            format!("other users of this machine can read it (mode {mode:04o})"),
            "spans contain what people said to the agent",
            format!("chmod 0700 {}", quoted(directory)),
        );
    }
}

fn files(directory: &Path) -> Vec<(String, fs::Metadata)> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    let of = |entry: fs::DirEntry| Some((entry.file_name().to_string_lossy().into_owned(), entry.metadata().ok()?));
    entries.filter_map(|entry| of(entry.ok()?)).collect()
}

fn room(directory: &Path, found: &mut Findings) {
    let Ok(system) = rustix::fs::statvfs(directory) else { return };
    let free = system.f_bavail.saturating_mul(system.f_frsize);
    let what = format!("{} are free", size(free));
    let mend = "free some space, or remove old spans: serve --retain-bytes BYTES or --retain-hours HOURS";
    match free {
        0..TOO_LITTLE => found.wrong(
            what,
            "requests are refused with UNAVAILABLE (gRPC) or 503 (HTTP) while the disk is full",
            mend,
        ),
        TOO_LITTLE..LITTLE => found.warning(what, "when the disk is full, requests are refused", mend),
        _ => found.ok(what),
    }
}

fn file_system(directory: &Path, found: &mut Findings) {
    let Ok(mounts) = fs::read_to_string("/proc/self/mountinfo") else {
        return;
    };
    let path = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
    let Some(kind) = kind_of(&mounts, &path) else { return };
    let base = kind.split('.').next().unwrap_or_default();
    match LIARS.iter().find(|(name, _)| *name == kind || *name == base) {
        None => found.ok(format!("the file system is {kind}")),
        Some((_, why)) => found.warning(
            format!("the file system is {kind}"),
            format!("acknowledged spans may be lost: {why}"),
            "use a local disk (serve --data-dir DIR) or, in a container, a volume",
        ),
    }
}

/// The type of the mount with the longest path above this one: field 5 is the path, the type follows ` - `.
fn kind_of<'a>(mounts: &'a str, path: &Path) -> Option<&'a str> {
    let of = |line: &'a str| {
        let (before, after) = line.split_once(" - ")?;
        let point = before.split(' ').nth(4)?.replace("\\040", " ");
        let kind = after.split(' ').next()?;
        path.starts_with(OsStr::new(&point)).then_some((point.len(), kind))
    };
    // Of two mounts at one path, the later covers the earlier.
    mounts
        .lines()
        .filter_map(of)
        .max_by_key(|(length, _)| *length)
        .map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_mount_tells_the_file_system() {
        let mounts = "21 1 254:0 / / rw - ext4 /dev/vda rw\n\
                      22 21 0:20 / /run rw shared:1 - tmpfs tmpfs rw\n\
                      23 22 0:21 / /run/my\\040data rw - fuse.sshfs x rw\n";
        for (path, kind) in [
            ("/a/b", "ext4"),
            ("/run/x", "tmpfs"),
            ("/runs", "ext4"),
            ("/run/my data/s", "fuse.sshfs"),
        ] {
            assert_eq!(kind_of(mounts, Path::new(path)), Some(kind), "{path}");
        }
    }
}
