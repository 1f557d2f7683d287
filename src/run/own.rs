//! A node's operation until a step takes it. Who asks for it then finds an empty one.

use std::cell::OnceCell;
use std::ops::{Deref, DerefMut};

use crate::operation::{Kind, Operation};

/// An operation, or the kind of one that was taken.
#[derive(Debug, Clone)]
pub(super) struct Own {
    operation: OnceCell<Box<Operation>>,
    taken: Kind,
}

impl Own {
    pub(super) fn new(operation: Box<Operation>) -> Self {
        Self {
            taken: operation.kind,
            operation: operation.into(),
        }
    }

    pub(super) fn kind(&self) -> Kind {
        self.operation.get().map_or(self.taken, |operation| operation.kind)
    }

    /// The operation. Its kind stays.
    pub(super) fn take(&mut self) -> Box<Operation> {
        self.taken = self.kind();
        self.operation.take().unwrap_or_else(|| empty(self.taken))
    }
}

fn empty(kind: Kind) -> Box<Operation> {
    Box::new(Operation {
        kind,
        ..Operation::default()
    })
}

impl Deref for Own {
    type Target = Operation;

    fn deref(&self) -> &Operation {
        self.operation.get_or_init(|| empty(self.taken))
    }
}

impl DerefMut for Own {
    fn deref_mut(&mut self) -> &mut Operation {
        let _ = self.operation.get_or_init(|| empty(self.taken));
        self.operation.get_mut().unwrap_or_else(|| unreachable!("made above"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_stays() {
        let mut own = Own::new(empty(Kind::Tool));
        own.name = "search".to_owned();
        assert_eq!(own.take().name, "search");
        assert_eq!((own.kind(), own.name.as_str()), (Kind::Tool, ""));
        own.name = "again".to_owned();
        assert_eq!((own.kind(), own.take().kind), (Kind::Tool, Kind::Tool));
        assert_eq!(own.take().name, "");
    }
}
