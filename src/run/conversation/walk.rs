//! Where in a conversation a model input is.

/// A walk through one model input.
pub(super) struct Walk {
    /// Everything before this saying is behind us.
    pub(super) from: usize,
    /// Sayings from here on came with this input.
    pub(super) until: usize,
    /// The saying whose tool answers may follow.
    pub(super) turn: Option<usize>,
    /// Calls of that saying that this walk has seen answered.
    pub(super) answered: Vec<usize>,
    /// Whether known sayings were passed over.
    pub(super) skipped: bool,
    /// Whether the provider keeps the history, so that an input without it is not cut.
    pub(super) stored: bool,
    /// Whether something new that is no system prompt came.
    pub(super) fresh: bool,
    /// The saying that this walk gave to the model call before.
    pub(super) given: Option<usize>,
}

impl Walk {
    /// The first place that is not behind: the saying that matched last may match again, piece by piece.
    pub(super) fn next(&self) -> usize {
        self.from + usize::from(self.turn == Some(self.from))
    }
}
