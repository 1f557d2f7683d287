//! Members of JSON objects by their names.

use serde_json::{Map, Value};

/// Up to so many members an object's names are compared one by one: hashing the wanted name costs more.
const FEW: usize = 8;

/// An object whose members are looked up, mostly a small one.
pub(crate) trait Members {
    /// The member with this name.
    fn member(&self, name: &str) -> Option<&Value>;

    /// Whether there is a member with this name.
    fn has(&self, name: &str) -> bool {
        self.member(name).is_some()
    }
}

impl Members for Map<String, Value> {
    fn member(&self, name: &str) -> Option<&Value> {
        if self.len() > FEW {
            return self.get(name);
        }
        self.iter().find(|(have, _)| *have == name).map(|(_, value)| value)
    }
}

impl Members for Value {
    fn member(&self, name: &str) -> Option<&Value> {
        self.as_object()?.member(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_in_small_and_large_objects() {
        for size in [0, 1, FEW, FEW + 1, 100] {
            let object: Value = (0..size).map(|number| (number.to_string(), Value::from(number))).collect();
            for number in 0..=size {
                let name = number.to_string();
                assert_eq!(object.member(&name), object.get(&name), "{number} of {size}");
                assert_eq!(object.has(&name), number < size);
            }
        }
        assert_eq!(Value::from("text").member("text"), None);
    }
}
