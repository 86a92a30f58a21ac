//! How do bytes become requests, and answers bytes?
//!
//! ```text
//! listen.rs  takes connections, not too many, and ends them in good order
//! watch.rs   a connection whose every wait has an end
//! sniff.rs   flaws of a request's head that the parser forgives and we do not
//! door.rs    what every request passes: head, key, route, and what every answer carries
//! ```

mod door;
mod listen;
mod sniff;
mod watch;

pub(crate) use door::{RequestId, Streamed, note_route};
pub(crate) use listen::serve;
