//! The HTTP service of sameish: stores documents and returns their near-duplicates and clusters.
//!
//! It serves one [`Catalog`](sameish_store::Catalog) of `sameish-store`.
//!
//! ```no_run
//! use sameish_server::{Server, Settings};
//!
//! let server = Server::bind(Settings::default())?;
//! println!("listening on http://{}", server.address());
//! server.run()?;
//! # Ok::<(), sameish_server::Error>(())
//! ```
//!
//! ```text
//! http/          connections, timeouts, checks of each request, headers of each response
//! routes/        handlers, one file per resource
//! wire/          request and response types, separate from those of engine and store
//! openapi.rs     description of the interface
//! problem.rs     errors with their status codes
//! body.rs        request bodies within limits; response.rs: response bodies; memory.rs: their memory budget
//! transfer.rs    minimum rate of bodies; gzip.rs: compression of responses
//! auth.rs        keys; rate.rs: rate limits
//! state.rs       state that all requests share; admission.rs: admission control; shares.rs: shares of keys and collections
//! settings/      settings of the operator
//! log.rs         log lines, which never delay a request
//! web/           pages for browsers
//! ```

#![forbid(unsafe_code)]

mod admission;
mod auth;
mod body;
mod demo;
mod events;
mod expiry;
mod gzip;
mod http;
mod ids;
mod log;
mod memory;
mod metrics;
mod openapi;
mod problem;
mod rate;
mod response;
mod routes;
mod server;
mod settings;
mod shares;
mod state;
mod transfer;
mod wire;

pub use auth::{NewKey, Scope};
pub use log::LogQueue;
pub use server::{Error, Handle, Server};
pub use settings::{KeySetting, Limits, LogFormat, Settings, SettingsError, VARIABLES, parse_listen};
pub use wire::CompareResponse;
