//! Trace and span ids: 16 and 8 bytes, never all zero, written as lower-case hexadecimal digits.

use std::fmt;

fn digit(number: u8) -> u8 {
    if number < 10 { b'0' + number } else { b'a' + number - 10 }
}

/// Writes bytes as two digits each.
fn write_hex(bytes: &[u8], digits: &mut [u8]) {
    let (pairs, _) = digits.as_chunks_mut();
    for (pair, byte) in pairs.iter_mut().zip(bytes) {
        *pair = [digit(byte >> 4), digit(byte & 15)];
    }
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut digits = vec![b'0'; bytes.len() * 2];
    write_hex(bytes, &mut digits);
    String::from_utf8(digits).unwrap_or_default()
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $bytes:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name([u8; $bytes]);

        impl $name {
            /// The id with these bytes; `None` if the length is wrong or all bytes are zero, which means "no id" in OTLP.
            #[must_use]
            pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
                let bytes: [u8; $bytes] = bytes.try_into().ok()?;
                (bytes != [0; $bytes]).then_some(Self(bytes))
            }

            /// Parses hexadecimal digits of any case.
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
                let mut text = [0u8; $bytes * 2];
                write_hex(&self.0, &mut text);
                f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
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
    /// Identifies a trace worldwide.
    TraceId,
    16
);
id!(
    /// Identifies a span within its trace.
    SpanId,
    8
);
