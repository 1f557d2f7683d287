//! Enumerations whose variants have names.

/// An enumeration with conversions to and from its words.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$item_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$item_doc])* $variant,)* }

        impl $name {
            /// The word in `semconv/`.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// The variant with this word.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)* _ => None }
            }

            /// All variants, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name of the variant, for generated code.
            #[must_use]
            pub fn variant(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant),)* }
            }
        }
    };
}

pub(crate) use named;
