//! The macros for the table in `fields.rs`: they generate the types with the fields, and the accessors of each field.

/// A group of facts: its type, and access to its members by name.
macro_rules! group {
    // Fields without a group.
    ({}) => {};
    (
        $(#[$group_doc:meta])*
        struct $Group:ident { $($(#[$doc:meta])* $member:ident: $type:ty,)* }
    ) => {
        #[derive(Debug, Clone, Default, PartialEq)]
        $(#[$group_doc])*
        pub struct $Group { $($(#[$doc])* pub $member: $type,)* }

        impl Sparse for $Group {
            const EMPTY: &'static Self = &Self { $($member: None,)* };
        }

        facts_of! { $Group { $($member,)* } }
    };
}

/// Access to the facts of a type by name. A new member does not compile until it is listed.
macro_rules! facts_of {
    ($Group:ident { $($member:ident,)* }) => {
        impl Group for $Group {
            const NAMES: &'static [&'static str] = &[$(stringify!($member),)*];

            #[inline]
            fn each<'a>(&'a self, mut tell: impl FnMut(&'static str, FieldValue<'a>)) {
                let Self { $($member,)* } = self;
                $(if let Some(value) = $member.value() {
                    tell(stringify!($member), value);
                })*
            }

            fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
                match name {
                    $(stringify!($member) => Some(self.$member.slot()),)*
                    _ => None,
                }
            }

            fn fill(&mut self, other: Self) {
                $(self.$member.fill(other.$member);)*
            }
        }
    };
}

/// The table: blocks of lines, each block the fields of one group or fields of the operation itself. A line is
///
/// ```text
/// Variant "name in semconv/" => group.member: type [Input],   a field of the block's group, whose value is content that went in
/// Variant "name in semconv/" = member: type as "name",        a field of the operation itself, with its name among the facts of documents
/// Variant "name in semconv/",                                 another way to record a field, read and written by separate code
/// ```
///
/// The fields of some groups have no name among the facts: documents contain these groups as a whole.
///
/// `beside` lists the members that no rule fills.
macro_rules! operation {
    (
        $(
            $($(#[$group_doc:meta])* struct $Group:ident, $(#[$held_doc:meta])* $held:ident: $Held:ty)? {
                $(#[$doc:meta] $Variant:ident $word:literal
                    $(= $own:ident: $own_type:ty)?
                    $(=> $place:ident.$member:ident: $type:ty)?
                    $(as $fact:literal)?
                    $([$content:ident])?,)*
            }
        )*
        beside { $($(#[$beside_doc:meta])* $beside:ident: $beside_type:ty,)* }
    ) => {
        named! {
            /// A field of an operation, or another way to record one, that rules fill.
            Field { $($(#[$doc] $Variant = $word,)*)* }
        }

        $(group! {
            $($(#[$group_doc])* struct $Group)?
            { $($(#[$doc] $member: $type,)?)* }
        })*

        /// An operation as one span records it.
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct Operation {
            $($(#[$beside_doc])* pub $beside: $beside_type,)*
            $($($(#[$held_doc])* pub $held: $Held,)? $($(#[$doc] pub $own: $own_type,)?)*)*
        }

        impl Field {
            /// The fields that documents contain as facts, each with its name there.
            pub(crate) const FACTS: &'static [(Self, &'static str)] = &[$($($((Self::$Variant, $fact),)?)*)*];

            /// Its name among the facts of documents.
            pub(crate) fn fact(self) -> Option<&'static str> {
                match self {
                    $($($(Self::$Variant => Some($fact),)?)*)*
                    _ => None,
                }
            }

            /// Its path in an operation, for example `tool.name`; `None` if it is another way to record a field.
            #[must_use]
            pub fn path(self) -> Option<&'static str> {
                match self {
                    $($(
                        $(Self::$Variant => Some(stringify!($own)),)?
                        $(Self::$Variant => Some(concat!(stringify!($place), ".", stringify!($member))),)?
                    )*)*
                    _ => None,
                }
            }

            /// The field's value; `None` if the operation has none, or the field is another way to record one.
            #[must_use]
            #[inline]
            pub fn value(self, operation: &Operation) -> Option<FieldValue<'_>> {
                match self {
                    $($(
                        $(Self::$Variant => operation.$own.value(),)?
                        $(Self::$Variant => operation.$place.held()?.$member.value(),)?
                    )*)*
                    _ => None,
                }
            }

            /// The field, for writing; `None` if it is another way to record one.
            #[inline]
            pub fn slot(self, operation: &mut Operation) -> Option<Slot<'_>> {
                Some(match self {
                    $($(
                        $(Self::$Variant => operation.$own.slot(),)?
                        $(Self::$Variant => operation.$place.held_mut().$member.slot(),)?
                    )*)*
                    _ => return None,
                })
            }

            /// Whether its value is content of the input or the output. Names, counts and ids are not content.
            #[must_use]
            pub fn content(self) -> Option<Content> {
                match self {
                    $($($(Self::$Variant => Some(Content::$content),)?)*)*
                    _ => None,
                }
            }
        }

        impl Operation {
            /// An operation without any other facts.
            #[must_use]
            pub fn named(kind: Kind, name: impl Into<String>) -> Self {
                Self { kind, name: name.into(), ..Self::default() }
            }

            /// Fills each missing field from another operation, except kind, name and failure.
            pub(crate) fn fill(&mut self, other: Self) {
                self.unmapped.fill(other.unmapped);
                self.has_unread_words |= other.has_unread_words;
                $($(Held::fill(&mut self.$held, other.$held);)? $($(self.$own.fill(other.$own);)?)*)*
            }
        }
    };
}

pub(super) use {facts_of, group, operation};
