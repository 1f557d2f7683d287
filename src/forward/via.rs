//! Finds loops: a request names the bridges that its spans passed, and a bridge that finds itself among them rejects it.
//!
//! The log does not record which bridges a span passed. So a bridge names every bridge that has sent to it since it was started. This
//! rejects a loop of bridges even if they would send each other different spans.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::{PoisonError, RwLock};

use http::{HeaderMap, HeaderValue};

use super::error::ForwardError;

/// The header: instances of bridges, with commas between.
pub const HEADER: &str = "spanbridge-via";

/// The file in the data directory that names the instance.
const FILE: &str = "instance";

/// How many bridges are remembered.
const REMEMBERED: usize = 64;

/// The id of this bridge, and those of the bridges that send to it.
#[derive(Debug)]
pub struct Via {
    instance: String,
    senders: RwLock<BTreeSet<String>>,
}

/// Keeps what stands in a damaged file. Other bridges know this one by its old name until they are started anew: a loop through them is
/// found one round later.
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
    /// The instance of a data directory; it is given a name if it has none.
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
            senders: RwLock::default(),
        })
    }

    /// An instance without a data directory.
    #[must_use]
    pub fn anonymous() -> Self {
        let random = getrandom::u64().unwrap_or_else(|_| u64::from(std::process::id()));
        Self {
            instance: format!("{random:016x}"),
            senders: RwLock::default(),
        }
    }

    /// Its name.
    #[must_use]
    pub fn instance(&self) -> &str {
        &self.instance
    }

    /// What requests of this bridge say.
    #[must_use]
    pub fn value(&self) -> Option<HeaderValue> {
        let senders = self.senders.read().unwrap_or_else(PoisonError::into_inner);
        let all: Vec<&str> = [self.instance.as_str()]
            .into_iter()
            .chain(senders.iter().map(String::as_str))
            .collect();
        HeaderValue::from_str(&all.join(",")).ok()
    }

    /// Whether a request came through this bridge before. Who else it came through is remembered.
    pub fn is_loop(&self, headers: &HeaderMap) -> bool {
        let values = headers.get_all(HEADER).iter().filter_map(|value| value.to_str().ok());
        let named: Vec<&str> = values
            .flat_map(|value| value.split(','))
            .map(str::trim)
            .filter(|name| usable(name))
            .collect();
        if named.contains(&self.instance.as_str()) {
            return true;
        }
        let known = |senders: &BTreeSet<String>| named.iter().all(|name| senders.contains(*name));
        if !named.is_empty() && !known(&self.senders.read().unwrap_or_else(PoisonError::into_inner)) {
            let mut senders = self.senders.write().unwrap_or_else(PoisonError::into_inner);
            for name in named {
                if senders.len() < REMEMBERED {
                    senders.insert(name.to_owned());
                }
            }
        }
        false
    }
}

fn usable(name: &str) -> bool {
    name.len() == 16 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(via: &Via) -> HeaderMap {
        HeaderMap::from_iter(via.value().map(|value| (http::HeaderName::from_static(HEADER), value)))
    }

    #[test]
    fn a_request_of_ones_own_is_a_loop() {
        let own = Via::anonymous();
        assert!(own.is_loop(&request(&own)));
        assert!(!own.is_loop(&HeaderMap::new()));
    }

    #[test]
    fn a_loop_of_three_is_found() {
        let [a, b, c] = [(); 3].map(|()| Via::anonymous());
        assert!(!b.is_loop(&request(&a)));
        assert!(!c.is_loop(&request(&b)));
        assert!(a.is_loop(&request(&c)));
    }

    #[test]
    fn an_instance_keeps_its_name() {
        let directory = tempfile::tempdir().expect("a directory");
        let first = Via::open(directory.path()).expect("opens");
        let again = Via::open(directory.path()).expect("opens");
        assert_eq!(first.instance(), again.instance());
    }
}
