//! Pages for browsers that show what the agents did, on the API port.
//!
//! | path | page |
//! |---|---|
//! | `/` | runs, newest first, with filters in the address |
//! | `/sessions`, `/sessions/{session}` | sessions; one as a thread over its runs |
//! | `/runs/{trace}` | a run: outline, waterfall and the selected step; the first four digits of the id are enough |
//! | `/runs/{trace}/conversation`, `/documents`, `/documents/{format}`, `/findings`, `/raw` | its other views |
//! | `/runs/{trace}/steps/{step}` | a step as a separate page |
//! | `/runs/{trace}/pane/{row}` | the same as a part of the run's page |
//! | `/review` | the runs of a list one after the other, to judge them |
//! | `/work`, `/runs/{trace}/work` | where time, tokens and cost went, of the runs of a list or of one |
//! | `/failures` | the failures of the runs of a list, as groups |
//! | `/runs/{trace}/losses` | how much of it each format loses, as a part |
//! | `/runs/{trace}/media/{name}` | a picture of its messages |
//! | `/runs/{trace}/head` | its head as a part, for a run that goes on |
//! | `/compare?a=&b=` | two runs step by step; without `b` the list to choose it from |
//! | `/compare/sessions?a=&b=` | two sessions, run by run |
//! | `/operations` | the store, the destinations, and how to point clients at this server |
//! | `/operations/dead-letters/{name}` | what a destination did not take |
//! | `/assets/{version}/{file}` | scripts and the style sheet, which are part of the program |
//!
//! The server renders everything: without scripts, lists, outline, steps and downloads still work. Scripts draw the outline
//! of all steps from a skeleton; only the visible rows are in the page.
//!
//! # Text of others
//!
//! Keys, names, values, ids and URLs come from others, who may be malicious. All of it passes through the template engine,
//! which escapes it; control and bidirectional characters are shown as escapes; none of it becomes a tag, an attribute's
//! name, a class, an address that is loaded, or a style. Should that ever fail, the content security policy lets the browser
//! run scripts and load only from this server, and forbids inline scripts and styles.

mod acts;
mod api;
mod asking;
mod assets;
mod charts;
mod clients;
mod compare;
mod conversation;
mod differences;
mod documents;
mod each;
mod failures;
mod feedback;
mod file;
mod findings;
pub(crate) mod frame;
mod head;
mod live;
mod load;
mod markdown;
mod media;
mod messages;
mod operations;
mod outline;
mod pane;
mod places;
mod prompt;
mod query;
mod raw;
mod readings;
mod reply;
mod review;
mod routes;
mod rows;
mod runs;
mod sessions;
mod sets;
mod skeleton;
mod span;
mod timeline;
mod value;
mod views;
mod words;
mod work;

pub use clients::Addresses;
pub(crate) use file::write_runs;
pub use file::{is_page, write};
pub(crate) use reply::page_reply;
pub(crate) use reply::{addressed, dressed};
pub use routes::routes;
