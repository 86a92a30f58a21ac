//! How does long work stay off the event loop?
//!
//! A [`Job`] is a closure that runs on one of Node's worker threads and settles a promise. Whatever it needs was copied or
//! is shared; nothing of JavaScript is touched there.

use crate::fault::{Fault, Result};
use napi::bindgen_prelude::{AsyncTask, ToNapiValue, TypeName};
use napi::{Env, JsError, JsValue, Task};
use std::panic::{AssertUnwindSafe, catch_unwind};

type Work<T> = Box<dyn FnOnce() -> Result<T, Fault> + Send>;

/// Work for another thread, and the promise of its outcome.
pub struct Job<T>(Option<Work<T>>);

impl<T> Job<T> {
    /// Starts the work; JavaScript gets the promise.
    pub(crate) fn start(work: impl FnOnce() -> Result<T, Fault> + Send + 'static) -> AsyncTask<Job<T>>
    where
        Job<T>: Task,
    {
        AsyncTask::new(Job(Some(Box::new(work))))
    }
}

impl<T: ToNapiValue + TypeName + Send + 'static> Task for Job<T> {
    type Output = Result<T, Fault>;
    type JsValue = T;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        let Some(work) = self.0.take() else { return Ok(Err(Fault::internal("work that ran twice"))) };
        // A panic must not unwind into Node.
        Ok(catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(Fault::panicked(&*panic))))
    }

    fn resolve(&mut self, env: Env, output: Self::Output) -> napi::Result<T> {
        output.map_err(|fault| {
            // Only an error object of JavaScript can have a code of ours.
            let error = JsError::from(napi::Error::<&'static str>::from(fault));
            napi::Error::from(error.into_unknown(env).to_unknown())
        })
    }
}
