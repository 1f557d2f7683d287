//! Addresses to connect to.

/// An address for connecting from this machine: `0.0.0.0` and `[::]` mean all of its addresses and cannot be connected to.
pub(super) fn reached_here(address: &str) -> String {
    for (all, own) in [("0.0.0.0:", "127.0.0.1:"), ("[::]:", "[::1]:")] {
        if let Some(port) = address.strip_prefix(all) {
            return format!("{own}{port}");
        }
    }
    address.to_owned()
}

#[cfg(test)]
mod tests {
    use super::reached_here;

    #[test]
    fn all_addresses_are_reached_by_the_loopback_one() {
        assert_eq!(reached_here("0.0.0.0:4318"), "127.0.0.1:4318");
        assert_eq!(reached_here("[::]:4318"), "[::1]:4318");
        assert_eq!(reached_here("10.0.0.0:4318"), "10.0.0.0:4318");
    }
}
