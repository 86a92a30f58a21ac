//! How do machines ask?
//!
//! The HTTP service of sameish: documents in, duplicates and clusters out, over one [`Catalog`](sameish_store::Catalog) of `sameish-store`.
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
//! http/        connections with limits, and what every request passes
//! routes/      a file a resource
//! wire/        what goes in and out, apart from the types of engine and store
//! problem.rs   every error, with its status
//! body.rs      bodies, within limits; json.rs reads them strictly
//! auth.rs      keys; rate.rs how often
//! state.rs     what all requests share; room.rs who is worked for now
//! web/         the pages
//! ```

#![forbid(unsafe_code)]

mod auth;
mod body;
mod demo;
mod expiry;
mod http;
mod ids;
mod json;
mod metrics;
mod openapi;
mod problem;
mod rate;
mod room;
mod routes;
mod server;
mod settings;
mod state;
mod wire;

pub use auth::Scope;
pub use server::{Error, Handle, Server};
pub use settings::{KeySetting, Limits, LogFormat, Settings, SettingsError, VARIABLES, parse_listen};
pub use wire::CompareAnswer;
