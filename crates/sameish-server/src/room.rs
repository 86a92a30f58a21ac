//! Who is worked for now, and who waits?
//!
//! A number of requests at a time, a queue before that, and a number of bulk requests. With two and more keys each may have
//! half of all that, so that one key's requests, however many and heavy, leave room for the others: who is over waits in
//! its own key's queue.

use crate::problem::{Kind, Problem};
use crate::settings::Limits;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

/// All the room there is, and what of it each key may have.
pub(crate) struct Rooms {
    all: Share,
    /// By the number of the key; empty where there is one key or none.
    keys: Vec<Share>,
}

/// Room for one request, given back when this is dropped.
pub(crate) struct Room {
    _own: Option<OwnedSemaphorePermit>,
    _all: OwnedSemaphorePermit,
}

struct Share {
    workers: Arc<Semaphore>,
    bulks: Arc<Semaphore>,
    waiting: AtomicUsize,
    queue: usize,
}

impl Share {
    fn new(workers: usize, bulks: usize, queue: usize) -> Share {
        let [workers, bulks] = [workers, bulks].map(|number| Arc::new(Semaphore::new(number)));
        Share { workers, bulks, waiting: AtomicUsize::new(0), queue }
    }

    /// A place in the queue, if there is one.
    fn wait(&self) -> Option<Place<'_>> {
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let place = Place(&self.waiting);
        (before < self.queue).then_some(place)
    }
}

/// A place in a queue, given back when it is dropped.
struct Place<'a>(&'a AtomicUsize);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Rooms {
    pub(crate) fn new(limits: &Limits, keys: usize) -> Rooms {
        let (workers, bulks, queue) = (limits.in_flight(), limits.bulk_requests, limits.queue);
        let half = || Share::new((workers / 2).max(1), (bulks / 2).max(1), queue / 2);
        Rooms {
            all: Share::new(workers, bulks, queue),
            keys: if keys > 1 { (0..keys).map(|_| half()).collect() } else { Vec::new() },
        }
    }

    /// Requests that wait for room.
    pub(crate) fn waiting(&self) -> usize {
        self.all.waiting.load(Ordering::Relaxed)
    }

    fn share(&self, key: Option<usize>) -> Option<&Share> {
        self.keys.get(key?)
    }

    /// Room for a request with this key, at the latest at `end`.
    pub(crate) async fn enter(&self, key: Option<usize>, end: Instant) -> Result<Room, Problem> {
        let share = self.share(key);
        if let Some(room) = now(share.map(|share| &share.workers), &self.all.workers) {
            return Ok(room);
        }
        let _own_place = share.map(|share| share.wait().ok_or_else(too_many)).transpose()?;
        let _place = self.all.wait().ok_or_else(busy)?;
        // The key's own room first: who is over its share does not stand before others.
        let own = match share {
            Some(share) => Some(soon(&share.workers, end).await.ok_or_else(too_many)?),
            None => None,
        };
        let all = soon(&self.all.workers, end).await.ok_or_else(busy)?;
        Ok(Room { _own: own, _all: all })
    }

    /// Room for a bulk request with this key. Nobody waits for that: such a request takes minutes.
    pub(crate) fn enter_bulk(&self, key: Option<usize>) -> Result<Room, Problem> {
        let own = match self.share(key).map(|share| Arc::clone(&share.bulks).try_acquire_owned()) {
            Some(Err(_)) => return Err(too_many()),
            own => own.and_then(Result::ok),
        };
        let busy = |_| Problem::new(Kind::Busy, "too many bulk requests at a time: try again in a second");
        let all = Arc::clone(&self.all.bulks).try_acquire_owned().map_err(busy)?;
        Ok(Room { _own: own, _all: all })
    }
}

/// Room without waiting.
fn now(own: Option<&Arc<Semaphore>>, all: &Arc<Semaphore>) -> Option<Room> {
    let own = own.map(|own| Arc::clone(own).try_acquire_owned()).transpose().ok()?;
    Arc::clone(all).try_acquire_owned().ok().map(|all| Room { _own: own, _all: all })
}

async fn soon(of: &Arc<Semaphore>, end: Instant) -> Option<OwnedSemaphorePermit> {
    timeout_at(end, Arc::clone(of).acquire_owned()).await.ok()?.ok()
}

fn busy() -> Problem {
    Problem::new(Kind::Busy, "too many requests at a time: try again in a second")
}

fn too_many() -> Problem {
    let detail = "too many requests at a time with this key, which may have half of the service: try again in a second";
    Problem::new(Kind::TooManyRequests, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(rooms: &Rooms, key: usize) -> Result<Room, u16> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime
            .block_on(async { rooms.enter(Some(key), Instant::now()).await })
            .map_err(|problem| problem.kind.status().as_u16())
    }

    #[test]
    fn a_key_has_half_of_the_room_where_there_are_others() {
        let limits = Limits { in_flight: 4, queue: 4, bulk_requests: 2, ..Limits::default() };
        let rooms = Rooms::new(&limits, 2);
        let mut taken = vec![enter(&rooms, 0).unwrap(), enter(&rooms, 0).unwrap()];
        assert_eq!(enter(&rooms, 0).err(), Some(429));
        taken.extend([enter(&rooms, 1).unwrap(), enter(&rooms, 1).unwrap()]);
        taken.remove(0);
        assert!(enter(&rooms, 0).is_ok());
        assert_eq!(rooms.waiting(), 0);
        let bulk = |key| rooms.enter_bulk(Some(key)).map_err(|problem| problem.kind.status().as_u16());
        let _first = bulk(0).unwrap();
        assert_eq!(bulk(0).err(), Some(429));
        assert!(bulk(1).is_ok());
    }

    #[test]
    fn one_key_has_all_of_it() {
        let limits = Limits { in_flight: 2, queue: 0, bulk_requests: 2, ..Limits::default() };
        let rooms = Rooms::new(&limits, 1);
        let _taken = [enter(&rooms, 0).unwrap(), enter(&rooms, 0).unwrap()];
        assert_eq!(enter(&rooms, 0).err(), Some(503));
    }
}
