//! Trace and span ids: 16 and 8 bytes, never all zero, written as lower-case hexadecimal digits.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $bytes:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name([u8; $bytes]);

        impl $name {
            /// The id with these bytes; `None` for another length or for all zeros, which mean "no id" in OTLP.
            #[must_use]
            pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
                let bytes: [u8; $bytes] = bytes.try_into().ok()?;
                (bytes != [0; $bytes]).then_some(Self(bytes))
            }

            /// The id with these hexadecimal digits, in any case.
            #[must_use]
            pub fn from_hex(text: &str) -> Option<Self> {
                if text.len() != $bytes * 2 {
                    return None;
                }
                let mut bytes = [0u8; $bytes];
                for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
                    let digits = std::str::from_utf8(pair).ok()?;
                    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                        return None;
                    }
                    *byte = u8::from_str_radix(digits, 16).ok()?;
                }
                Self::from_bytes(&bytes)
            }

            /// The bytes.
            #[must_use]
            pub fn bytes(&self) -> &[u8; $bytes] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

id!(
    /// Names one trace, worldwide.
    TraceId,
    16
);
id!(
    /// Names one span within its trace.
    SpanId,
    8
);
