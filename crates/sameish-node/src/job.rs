//! Work on other threads.
//!
//! A [`Job`] is a closure that runs on one of Node's worker threads and settles a promise. It owns or shares its input and
//! uses no JavaScript values.

use crate::error::{CodedError, Result};
use napi::bindgen_prelude::{AsyncTask, ToNapiValue, TypeName};
use napi::{Env, JsError, JsValue, Task};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

type Work<T> = Box<dyn FnOnce() -> Result<T, CodedError> + Send>;

/// A closure that runs once on a worker thread and settles a promise with its result.
pub struct Job<T>(Option<Work<T>>);

impl<T> Job<T> {
    /// Schedules the work. JavaScript receives the promise.
    pub(crate) fn start(work: impl FnOnce() -> Result<T, CodedError> + Send + 'static) -> AsyncTask<Job<T>>
    where
        Job<T>: Task,
    {
        AsyncTask::new(Job(Some(Box::new(work))))
    }
}

impl<T: ToNapiValue + TypeName + Send + 'static> Task for Job<T> {
    type Output = Result<T, CodedError>;
    type JsValue = T;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        let Some(work) = self.0.take() else { return Ok(Err(CodedError::internal("a job ran twice"))) };
        // A panic must not unwind into Node.
        let result = catch_unwind(AssertUnwindSafe(work));
        Ok(result.unwrap_or_else(|panic| Err(CodedError::from_panic(&*panic))))
    }

    fn resolve(&mut self, env: Env, output: Self::Output) -> napi::Result<T> {
        output.map_err(|error| {
            // napi rejects the promise with its own codes unless it is given a JavaScript error object.
            let error = JsError::from(napi::Error::<&'static str>::from(error));
            napi::Error::from(error.into_unknown(env).to_unknown())
        })
    }
}

/// Locks a mutex, even if a thread panicked while holding it. Use it only for values that are valid after every operation.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
