//! Detects loops: a request names the bridges its spans passed, and a bridge that finds itself among them rejects it.
//!
//! The log does not record which bridges a span passed. So a bridge names every bridge that has sent to it since it was
//! started. This rejects a loop even if the bridges in it would send each other different spans. Only the last senders are
//! remembered; a longer loop is detected by the number of bridges that a request passed, which grows with each round.

use std::collections::VecDeque;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::{PoisonError, RwLock};

use http::{HeaderMap, HeaderName, HeaderValue};

use super::error::ForwardError;

/// The header with the instances of bridges, separated by commas.
pub(crate) const HEADER: &str = "spanbridge-via";

/// The header with the number of bridges that a request passed.
pub(crate) const HOPS: &str = "spanbridge-hops";

/// A request that passed more bridges than this is in a loop.
const MAX_HOPS: u64 = 16;

/// The file in the data directory with the instance's name.
const FILE: &str = "instance";

/// Maximum number of remembered bridges.
const MAX_SENDERS: usize = 64;

/// The name of this bridge, and those of the bridges that send to it.
#[derive(Debug)]
pub struct Via {
    instance: String,
    /// Whether others can send to it: only then its requests name it.
    is_server: bool,
    senders: RwLock<Senders>,
}

/// The bridges that sent most recently.
#[derive(Debug, Default)]
struct Senders {
    names: VecDeque<String>,
    /// The largest number of bridges that a request passed.
    hops: u64,
}

/// Renames a damaged file. Other bridges know this one by its old name until they are restarted: a loop through them is
/// detected one round later.
fn set_aside(path: &Path) {
    let aside = path.with_extension("damaged");
    let moved = fs::rename(path, &aside);
    let path = path.display();
    match moved {
        Ok(()) => tracing::warn!(
            "{path} is damaged: it is now {}, and this server gets another name",
            aside.display()
        ),
        Err(error) => tracing::warn!(%error, "{path} is damaged, and is replaced: this server gets another name"),
    }
}

impl Via {
    /// The instance of a data directory, with a new name if it has none.
    ///
    /// # Errors
    ///
    /// The file cannot be read or written.
    pub fn open(data_dir: &Path) -> Result<Self, ForwardError> {
        let path = data_dir.join(FILE);
        let known = match fs::read(&path) {
            Ok(bytes) => {
                let text = String::from_utf8(bytes).unwrap_or_default();
                let known = Some(text.trim().to_owned()).filter(|text| usable(text));
                if known.is_none() {
                    set_aside(&path);
                }
                known
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(ForwardError::io("read", path)(error)),
        };
        let instance = match known {
            Some(instance) => instance,
            None => {
                let Self { instance, .. } = Self::anonymous();
                let mut file = fs::File::create(&path).map_err(ForwardError::io("make", &path))?;
                let written = file.write_all(instance.as_bytes()).and_then(|()| file.sync_all());
                written.map_err(ForwardError::io("write", &path))?;
                instance
            }
        };
        Ok(Self {
            instance,
            is_server: true,
            senders: RwLock::default(),
        })
    }

    /// An instance without a data directory, to which no bridge can send.
    #[must_use]
    pub fn anonymous() -> Self {
        let random = getrandom::u64().unwrap_or_else(|_| u64::from(std::process::id()));
        Self {
            instance: format!("{random:016x}"),
            is_server: false,
            senders: RwLock::default(),
        }
    }

    /// Its name.
    #[must_use]
    pub fn instance(&self) -> &str {
        &self.instance
    }

    /// The headers for its requests.
    #[must_use]
    pub fn headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        if !self.is_server {
            return Vec::new();
        }
        let senders = self.senders.read().unwrap_or_else(PoisonError::into_inner);
        let all: Vec<&str> = [self.instance.as_str()]
            .into_iter()
            .chain(senders.names.iter().map(String::as_str))
            .collect();
        let hops = HeaderValue::from(senders.hops.saturating_add(1));
        let names = HeaderValue::from_str(&all.join(",")).ok();
        let names = names.map(|names| (HeaderName::from_static(HEADER), names));
        names.into_iter().chain([(HeaderName::from_static(HOPS), hops)]).collect()
    }

    /// Whether a request passed this bridge before. Also remembers the other bridges it passed.
    pub fn is_loop(&self, headers: &HeaderMap) -> bool {
        let values = headers.get_all(HEADER).iter().filter_map(|value| value.to_str().ok());
        let named: Vec<&str> = values
            .flat_map(|value| value.split(','))
            .map(str::trim)
            .filter(|name| usable(name))
            .take(MAX_SENDERS)
            .collect();
        let hops = headers.get(HOPS).and_then(|value| value.to_str().ok()?.parse().ok()).unwrap_or(0);
        if named.contains(&self.instance.as_str()) || hops > MAX_HOPS {
            return true;
        }
        let is_known = |senders: &Senders| senders.hops >= hops && named.iter().all(|name| senders.names.iter().any(|known| known == name));
        if !named.is_empty() && !is_known(&self.senders.read().unwrap_or_else(PoisonError::into_inner)) {
            let mut senders = self.senders.write().unwrap_or_else(PoisonError::into_inner);
            senders.hops = senders.hops.max(hops);
            for name in named {
                senders.names.retain(|known| known != name);
                senders.names.push_back(name.to_owned());
            }
            let most = senders.names.len().saturating_sub(MAX_SENDERS);
            senders.names.drain(..most);
        }
        false
    }
}

fn usable(name: &str) -> bool {
    name.len() == 16 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a test")]
mod tests {
    use super::*;

    fn server() -> Via {
        Via {
            is_server: true,
            ..Via::anonymous()
        }
    }

    fn request(via: &Via) -> HeaderMap {
        via.headers().into_iter().collect()
    }

    #[test]
    fn a_request_of_ones_own_is_a_loop() {
        let own = server();
        assert!(own.is_loop(&request(&own)));
        assert!(!own.is_loop(&HeaderMap::new()));
        assert!(Via::anonymous().headers().is_empty(), "nothing is sent to a command");
    }

    #[test]
    fn a_loop_of_three_is_found() {
        let [a, b, c] = [(); 3].map(|()| server());
        assert!(!b.is_loop(&request(&a)));
        assert!(!c.is_loop(&request(&b)));
        assert!(a.is_loop(&request(&c)));
    }

    /// However many bridges send to one: those of a loop, or the number of bridges that a request passed, end it.
    #[test]
    fn a_loop_is_found_beside_any_number_of_senders() {
        let [a, b] = [(); 2].map(|()| server());
        for _ in 0..1_000 {
            assert!(!a.is_loop(&request(&server())));
        }
        assert!(!b.is_loop(&request(&a)));
        assert!(a.is_loop(&request(&b)));
        // A ring in which each has forgotten the names of the others.
        let ring: Vec<Via> = (0..100).map(|_| server()).collect();
        let mut passed = 0;
        for (at, from) in ring.iter().enumerate().cycle().take(1_000) {
            if ring[(at + 1) % ring.len()].is_loop(&request(from)) {
                break;
            }
            passed += 1;
        }
        assert!(passed < 20, "{passed}");
    }

    #[test]
    fn a_damaged_name_is_replaced() {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join(FILE), [0xff, 0xfe, 0]).expect("writes");
        let named = Via::open(directory.path()).expect("opens");
        assert!(usable(named.instance()));
    }

    #[test]
    fn an_instance_keeps_its_name() {
        let directory = tempfile::tempdir().expect("a directory");
        let first = Via::open(directory.path()).expect("opens");
        let again = Via::open(directory.path()).expect("opens");
        assert_eq!(first.instance(), again.instance());
    }
}
