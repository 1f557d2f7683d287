//! Tokens and money. Every count is optional: 0 and "not said" differ.

/// Tokens of one model call. Input includes cache reads and writes, output includes reasoning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenCount {
    /// Tokens that went in.
    pub input: Option<u64>,
    /// Tokens that came out.
    pub output: Option<u64>,
    /// The recorded total.
    pub total: Option<u64>,
    /// Input tokens read from a cache.
    pub cache_read: Option<u64>,
    /// Input tokens written to a cache.
    pub cache_write: Option<u64>,
    /// Output tokens spent on reasoning.
    pub reasoning: Option<u64>,
}

impl TokenCount {
    /// The recorded total, else input and output added as far as they are known.
    #[must_use]
    pub fn sum(&self) -> Option<u64> {
        self.total.or(match (self.input, self.output) {
            (None, None) => None,
            (input, output) => Some(input.unwrap_or(0).saturating_add(output.unwrap_or(0))),
        })
    }

    /// Whether nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Money of one operation, in US dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cost {
    /// In all.
    pub total: Option<f64>,
    /// For the prompt.
    pub input: Option<f64>,
    /// For the completion.
    pub output: Option<f64>,
}
