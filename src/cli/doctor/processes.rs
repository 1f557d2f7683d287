//! Which process holds a lock or port, as reported by Linux; unknown on other systems.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// A process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) id: u32,
    /// Name of its program.
    pub(super) name: String,
}

impl std::fmt::Display for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "process {} ({})", self.id, self.name)
    }
}

fn process(id: u32) -> Process {
    let name = fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
    let name = match name.trim() {
        "" => "unknown",
        name => name,
    };
    Process { id, name: name.to_owned() }
}

/// The process that locks a data directory. The lock is not touched: a bridge that is starting must get it.
pub(super) fn holder(directory: &Path) -> Option<Process> {
    let locks = fs::read_to_string("/proc/locks").ok()?;
    // Some file systems cannot lock directories: then the file in it is locked.
    let inodes = [directory.to_owned(), directory.join("lock")].map(|path| fs::metadata(path).ok().map(|data| data.ino()));
    inodes.into_iter().flatten().find_map(|inode| holder_in(&locks, inode)).map(process)
}

/// `1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF`
fn holder_in(locks: &str, inode: u64) -> Option<u32> {
    locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [_, "FLOCK", _, _, id, file, ..] if file.rsplit(':').next()?.parse() == Ok(inode) => id.parse().ok(),
            _ => None,
        }
    })
}

/// The process that listens on a local TCP port.
pub(super) fn listener(port: u16) -> Option<Process> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
    let inode = tables.iter().find_map(|table| socket_in(table, port))?;
    let wanted = format!("socket:[{inode}]");
    let ids = fs::read_dir("/proc")
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    // The files of other users' processes are not visible.
    let has = |id: &u32| {
        let files = fs::read_dir(format!("/proc/{id}/fd")).into_iter().flatten();
        files
            .filter_map(|file| fs::read_link(file.ok()?.path()).ok())
            .any(|target| target.as_os_str() == wanted.as_str())
    };
    ids.into_iter().find(has).map(process)
}

/// `sl local_address rem_address st ... inode`, the address as hexadecimal `ip:port`, state 0A is listening.
fn socket_in(table: &str, port: u16) -> Option<u64> {
    table.lines().skip(1).find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [_, local, _, "0A", _, _, _, _, _, inode, ..] => {
                let found = u16::from_str_radix(local.rsplit(':').next()?, 16).ok()?;
                (found == port).then(|| inode.parse().ok())?
            }
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_the_system() {
        let locks = "1: POSIX  ADVISORY  READ 5 00:01:77 0 EOF\n2: FLOCK  ADVISORY  WRITE 1234 fe:00:77 0 EOF\n";
        assert_eq!((holder_in(locks, 77), holder_in(locks, 7)), (Some(1_234), None));
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
             0: 0100007F:10DD 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100\n\
             1: 0100007F:10DE 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0 100\n";
        assert_eq!((socket_in(table, 4_317), socket_in(table, 4_318)), (Some(4_711), None));
    }
}
