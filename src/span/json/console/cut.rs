//! Places where node truncated its output.

#[derive(Debug, Default)]
pub(crate) struct Cut {
    /// The number of places.
    pub(crate) count: usize,
    /// Paths of the first few, each a list of keys from the object.
    pub(crate) first: Vec<String>,
}

impl Cut {
    /// Maximum number of paths kept.
    const MAX_PATHS: usize = 3;

    pub(super) fn add(&mut self, way: &[&str]) {
        self.count += 1;
        if self.first.len() < Self::MAX_PATHS {
            self.first.push(way.join("."));
        }
    }
}
