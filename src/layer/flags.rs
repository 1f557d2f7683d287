//! Optional attributes and behaviour of a layer.

#[derive(Debug, Clone, Copy)]
pub(super) struct Flags {
    pub(super) location: bool,
    pub(super) threads: bool,
    pub(super) target: bool,
    pub(super) level: bool,
    pub(super) busy: bool,
    pub(super) activate: bool,
    pub(super) events: bool,
}

impl Default for Flags {
    fn default() -> Self {
        Self {
            location: false,
            threads: false,
            target: false,
            level: false,
            busy: false,
            activate: true,
            events: true,
        }
    }
}
