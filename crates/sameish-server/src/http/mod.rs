//! Connections, and what applies to every request and response.
//!
//! ```text
//! listen.rs       accepts connections up to a limit, serves them, shuts down gracefully
//! timeouts.rs     streams with timeouts for idle, slow and stalled clients
//! smuggling.rs    checks of request heads before they are parsed
//! framing.rs      where a request body ends
//! checks.rs       checks of the URI, host and origin of each request
//! middleware.rs   authentication and routing of each request, common headers of each response, log and metrics
//! ```

mod checks;
#[cfg(test)]
mod differential;
mod framing;
mod listen;
mod middleware;
mod smuggling;
mod timeouts;

pub(crate) use listen::serve;
pub(crate) use middleware::{RequestId, record_route};
pub(crate) use timeouts::ResponseKind;
