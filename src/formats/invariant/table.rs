//! Invariant's records: events, tool calls, annotations, and the containers of a list of events. A document must satisfy both the
//! analyzer and Explorer's schema.

use super::offered;
use crate::document::records::{records, variants};
use crate::document::shape::Shape::{self, Any, Deferred, Either, List, Maybe, Object, Of, OneOf, Open, Text, Word};
use crate::document::source::Otherwise::{EmptyList, EmptyObject, Null};

/// A list of events, a row with them, a request to push several, or a row of metadata for the rows after it.
pub(super) const DOCUMENT: Shape = Either(&[List(&EVENT), Of(&ROW), Of(&PUSH), Of(&ABOUT)]);

records! {
    MESSAGE "a message" {
        need role: Text;
        may content: Maybe(&CONTENT), usually(Null);
        may tool_calls: Maybe(&List(&Of(&CALL)));
        may metadata: Open(&METADATA);
        may timestamp: Maybe(&Text);
        may name: Any;
        may server: Maybe(&Text);
    }
    /// The server of an event is read from here.
    METADATA "metadata" {
        may server: Maybe(&Text);
    }
}

const CONTENT: Shape = Either(&[Text, List(&Deferred(&Object, &OneOf(&PARTS)))]);

variants! {
    PARTS "a part" {
        may metadata: Maybe(&Object);
        may server: Maybe(&Text);
    } of {
        (type = "text") "a text part" { need text: Text; }
        (type = "image_url") "an image part" { need image_url: Of(&IMAGE); }
    }
}

records! {
    IMAGE "an image" {
        need url: Text;
    }
    ANNOTATION "an annotation" {
        need content: Text;
        need address: Text;
        may extra_metadata: Maybe(&Object);
    }
    OUTPUT "a tool output" {
        need role: Text;
        may tool_call_id: Maybe(&Text);
        need content: Maybe(&CONTENT);
        may metadata: Open(&METADATA);
        may timestamp: Maybe(&Text);
        may server: Maybe(&Text);
    }
    CALL "a tool call" {
        need id: Text;
        need type: Word(&["function"]);
        need function: Of(&FUNCTION);
        may metadata: Object;
        may server: Maybe(&Text);
    }
    FUNCTION "a function" {
        need name: Text;
        need arguments: Object;
    }
}

const EVENT: Shape = OneOf(&EVENTS);

records! {
    ROW "a row" {
        need messages: List(&EVENT);
        may annotations: Maybe(&ANNOTATIONS), usually(EmptyList);
        may metadata: Maybe(&Object), usually(EmptyObject);
    }
    PUSH "a push request" {
        need messages: List(&List(&EVENT));
        may annotations: Maybe(&List(&Maybe(&ANNOTATIONS))), usually(Null);
        may dataset: Maybe(&Text), usually(Null);
        may metadata: Maybe(&List(&Maybe(&Object))), usually(EmptyList);
    }
    ABOUT "a row of metadata", only "the other rows have them" {
        need metadata: Any;
    }
}

pub(super) const ANNOTATIONS: Shape = List(&Of(&ANNOTATION));

variants! {
    EVENTS "an event" {} of {
        (role = "tool") => OUTPUT;
        (has role) => MESSAGE;
        (has tools) => offered::TOOLS;
        (has type) => CALL;
    }
}
