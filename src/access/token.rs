//! Tokens and their hashes.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

/// Prefix of every token, by which scanners for leaked secrets recognize it.
const PREFIX: &str = "spanbridge_";
const ALGORITHM: &str = "sha256:";

/// The SHA-256 of a token, written `sha256:` and 64 hexadecimal digits.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct TokenHash([u8; 32]);

/// Text that is not a hash. It may be a misplaced token, so it is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a hash is `sha256:` followed by 64 hexadecimal digits; `spanbridge token new` makes a token and its hash")]
pub struct HashError;

impl TokenHash {
    /// The hash of a token.
    #[must_use]
    pub fn of(token: &[u8]) -> Self {
        Self(Sha256::digest(token).into())
    }
}

impl FromStr for TokenHash {
    type Err = HashError;

    fn from_str(text: &str) -> Result<Self, HashError> {
        let digits = text.strip_prefix(ALGORITHM).filter(|digits| digits.len() == 64).ok_or(HashError)?;
        let mut hash = [0; 32];
        for (byte, pair) in hash.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
            let pair = std::str::from_utf8(pair)
                .ok()
                .filter(|pair| !pair.starts_with('+'))
                .ok_or(HashError)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| HashError)?;
        }
        Ok(Self(hash))
    }
}

impl fmt::Display for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{ALGORITHM}{}", crate::span::hex(&self.0))
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(..)")
    }
}

/// A token in plain text, known only at creation and to its holder.
pub struct Secret(String);

impl Secret {
    /// A new token: 256 bits from the system's random number generator.
    ///
    /// # Errors
    ///
    /// The system cannot provide random numbers.
    pub fn new() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)?;
        Ok(Self(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))))
    }

    /// The token as sent in requests.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The hash to store.
    #[must_use]
    pub fn hash(&self) -> TokenHash {
        TokenHash::of(self.0.as_bytes())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test")]
    use super::*;

    #[test]
    fn hashes_are_read_as_they_are_written() {
        let hash = TokenHash::of(b"abc");
        let text = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash.to_string(), text);
        assert_eq!(text.parse::<TokenHash>().unwrap(), hash);
        assert_eq!(text.to_uppercase().replace("SHA", "sha").parse::<TokenHash>().unwrap(), hash);
        for bad in [
            "",
            "abc",
            "sha256:",
            "sha256:ba78",
            &text.replace('b', "+"),
            &text.replace('b', "é"),
            &format!("{text}0"),
        ] {
            assert_eq!(bad.parse::<TokenHash>(), Err(HashError), "{bad}");
        }
    }

    #[test]
    fn tokens_differ_and_do_not_show_themselves() {
        let (one, two) = (Secret::new().unwrap(), Secret::new().unwrap());
        assert_ne!(one.text(), two.text());
        assert_eq!(one.text().len(), PREFIX.len() + 43);
        assert!(!format!("{one:?} {:?}", one.hash()).contains(one.text()));
    }
}
