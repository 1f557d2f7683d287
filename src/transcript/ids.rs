//! Makes ids unique.

use crate::document::json::Text;
use crate::hash::HashMap;

/// Ids in use, each with the number of its last copy, so that thousands of equal ones are made distinct in linear time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ids<'a>(HashMap<Text<'a>, u32>);

impl<'a> Ids<'a> {
    /// Takes an unused id: the id itself, else with the separator and the first unused number from 2 on.
    pub(crate) fn numbered(&mut self, id: impl Into<Text<'a>>, separator: char) -> Text<'a> {
        let id = id.into();
        let Some(mut count) = self.0.get(&id).copied() else {
            self.0.insert(id.clone(), 1);
            return id;
        };
        loop {
            count += 1;
            let free = Text::from(format!("{id}{separator}{count}"));
            if !self.0.contains_key(&free) {
                self.0.insert(id, count);
                self.0.insert(free.clone(), 1);
                return free;
            }
        }
    }

    /// Takes an unused id: the id itself, else with the prefix, else numbered.
    pub(crate) fn prefixed(&mut self, id: &Text<'a>, prefix: impl Fn() -> Text<'a>) -> Text<'a> {
        if self.0.contains_key(id) {
            return self.numbered(format!("{}/{id}", prefix()), '#');
        }
        self.numbered(id.clone(), '#')
    }
}

#[cfg(test)]
mod tests {
    use crate::transcript::ids::*;

    #[test]
    fn each_is_once() {
        let mut ids = Ids::default();
        let list: Vec<String> = ["a", "a", "a:3", "a", "a:2", "b"]
            .iter()
            .map(|id| ids.numbered(*id, ':').into_owned())
            .collect();
        assert_eq!(list, ["a", "a:2", "a:3", "a:4", "a:2:2", "b"]);
        let list: Vec<String> = ["c", "c", "c"]
            .iter()
            .map(|id| ids.prefixed(&(*id).into(), || "p".into()).into_owned())
            .collect();
        assert_eq!(list, ["c", "p/c", "p/c#2"]);
    }
}
