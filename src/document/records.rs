//! The notation for the types of documents: macros that define the [`Record`](super::shape::Record)s and
//! [`Variants`](super::shape::Variants) of a format.

/// Defines records: one line per field, with its shape, sources and default.
///
/// ```text
/// RECORD "with its article", only "what becomes of other fields" {
///     need field: Shape, from(Field).of(Part).made_up(Text("unknown"));
///     may field: Shape;
/// }
/// ```
macro_rules! records {
    ($(
        $(#[$doc:meta])* $record:ident $what:literal $(, only $others:tt)?
        { $($kind:ident $name:ident: $shape:expr $(, $($method:ident($($arg:expr),*)).+)?;)* }
    )*) => {
        $($(#[$doc])* pub(super) static $record: $crate::document::shape::Record = $crate::document::records::record! {
            $what $(, only $others)? { $($kind $name: $shape $(, $($method($($arg),*)).+)?;)* }
        };)*
    };
}

/// Defines one record, as in [`records`].
macro_rules! record {
    (
        $what:literal $(, only $others:tt)?
        { $($kind:ident $name:ident: $shape:expr $(, $($method:ident($($arg:expr),*)).+)?;)* }
    ) => {
        $crate::document::shape::Record {
            what: $what,
            fields: &[$($crate::document::shape::$kind(stringify!($name), $shape)$($(.$method($($arg),*))+)?,)*],
            others: $crate::document::shape::first(&[$($others)?]),
        }
    };
}

/// Defines objects of several kinds: the fields of every kind, then each kind with its tag and its own fields.
///
/// ```text
/// PARTS "a part" { may internal: Any; } of {
///     (type = "text" | "words") "a text part" { need text: Text; }
///     (has turns) => CONVERSATION;
///     (other) "another part" {}
/// }
/// ```
macro_rules! variants {
    ($(
        $(#[$doc:meta])* $variants:ident $what:literal $(, only $others:tt)? { $($common:tt)* } of {
            $(($($tag:tt)*) $($kind:literal $(, only $also:tt)? { $($fields:tt)* })? $(=> $record:path;)?)*
        }
    )*) => {
        $($(#[$doc])* pub(super) static $variants: $crate::document::shape::Variants = $crate::document::shape::Variants {
            common: $crate::document::records::record! { $what $(, only $others)? { $($common)* } },
            of: &[$((
                $crate::document::records::tag!($($tag)*),
                $(&$crate::document::records::record! { $kind $(, only $also)? { $($fields)* } })? $(&$record)?
            ),)*],
        };)*
    };
}

/// The tag of a kind, as in [`variants`].
macro_rules! tag {
    (has $field:ident) => { $crate::document::shape::Tag::Has(stringify!($field)) };
    (other) => { $crate::document::shape::Tag::Other };
    ($field:ident = $($word:literal)|+) => { $crate::document::shape::Tag::Is(stringify!($field), &[$($word),+]) };
    ($field:ident in $words:expr) => { $crate::document::shape::Tag::Is(stringify!($field), $words) };
}

pub(crate) use {record, records, tag, variants};
