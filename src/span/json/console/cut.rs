//! Places that node cut.

/// What node cut.
#[derive(Debug, Default)]
pub(crate) struct Cut {
    /// The number of places.
    pub(crate) count: usize,
    /// The first of them, each by its keys from the object.
    pub(crate) first: Vec<String>,
}

impl Cut {
    /// Places that are named.
    const NAMED: usize = 3;

    pub(super) fn add(&mut self, way: &[&str]) {
        self.count += 1;
        if self.first.len() < Self::NAMED {
            self.first.push(way.join("."));
        }
    }
}
