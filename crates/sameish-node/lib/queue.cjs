// The order of calls on an engine.
//
// Async calls run in the order in which they were made: any number of readers at the same time, or one writer. A call that
// reads its input first has its place in the order from the beginning. Calls wait in JavaScript and not for a lock, because a
// waiting thread of Node's pool would be missing for other work.
//
// Two rules prevent deadlocks. While an iteration over pairs runs or waits, writes are rejected, because the loop body could
// wait for them. While an async call reads its input, async calls on the same engine from within that input are rejected,
// because they would wait for the call that waits for the input.
'use strict';

const { AsyncLocalStorage } = require('node:async_hooks');

const READ = 'read';
const WRITE = 'write';

/** The inputs that the current code is part of. Each entry has its queue and whether it is still being read. */
const currentInputs = new AsyncLocalStorage();
let openInputs = 0;

class CallQueue {
  /** Number of running readers, including iterations. */
  #readers = 0;
  /** Whether a writer is running. */
  #writing = false;
  /** Whether the running writer has read its input and changes the engine. */
  #changing = false;
  /** Number of iterations that run or wait. */
  #iterations = 0;
  #waiting = [];

  /** Runs work that reads the engine. Returns a promise of its result. */
  read(work) {
    return this.#run(READ, work);
  }

  /** Runs work that changes the engine, after the optional function `readInput`. Returns a promise of the result of `work`. */
  write(work, readInput) {
    if (this.#iterations > 0) return Promise.reject(iterating());
    return this.#run(WRITE, async () => {
      if (readInput !== undefined) await this.#trackInput(readInput);
      this.#changing = true;
      try {
        return await work();
      } finally {
        this.#changing = false;
      }
    });
  }

  /** Waits until an iteration over pairs may start. Returns a function that ends it; repeated calls have no effect. */
  async startIteration() {
    this.#rejectNested();
    this.#iterations += 1;
    await new Promise((resolve) => {
      this.#enter(READ, resolve);
    });
    let running = true;
    return () => {
      if (!running) return;
      running = false;
      this.#iterations -= 1;
      this.#leave(READ);
    };
  }

  /** Throws an error if a synchronous read would have to wait. `asyncName` is the async method that can wait. */
  checkSyncRead(asyncName) {
    if (this.#changing) throw inProgress(asyncName);
  }

  /** Throws an error if a synchronous write would have to wait. `asyncName` is the async method that can wait. */
  checkSyncWrite(asyncName) {
    if (this.#iterations > 0) throw iterating();
    if (this.#writing || this.#readers > 0) throw inProgress(asyncName);
  }

  #run(mode, work) {
    return new Promise((resolve, reject) => {
      this.#rejectNested();
      this.#enter(mode, async () => {
        try {
          resolve(await work());
        } catch (error) {
          reject(error);
        } finally {
          this.#leave(mode);
        }
      });
    });
  }

  async #trackInput(readInput) {
    const input = { queue: this, open: true };
    openInputs += 1;
    try {
      await currentInputs.run([input, ...(currentInputs.getStore() ?? [])], readInput);
    } finally {
      input.open = false;
      openInputs -= 1;
      // Tracking slows down all promises of the process.
      if (openInputs === 0) currentInputs.disable();
    }
  }

  #rejectNested() {
    const inputs = currentInputs.getStore() ?? [];
    if (!inputs.some(({ queue, open }) => queue === this && open)) return;
    throw busy('the input of an async call cannot wait for another async call on the same engine: use the synchronous method');
  }

  #enter(mode, start) {
    this.#waiting.push({ mode, start });
    this.#startNext();
  }

  #leave(mode) {
    if (mode === WRITE) this.#writing = false;
    else this.#readers -= 1;
    this.#startNext();
  }

  #startNext() {
    while (this.#waiting.length > 0) {
      const { mode, start } = this.#waiting[0];
      if (this.#writing || (mode === WRITE && this.#readers > 0)) return;
      this.#waiting.shift();
      if (mode === WRITE) this.#writing = true;
      else this.#readers += 1;
      start();
    }
  }
}

function inProgress(asyncName) {
  return busy(`an async call on this engine is in progress: await it first, or use \`${asyncName}\``);
}

function iterating() {
  return busy('an iteration over `eachPair` is in progress: finish it or leave the loop first');
}

function busy(message) {
  return Object.assign(new Error(message), { code: 'ERR_SAMEISH_BUSY' });
}

module.exports = { CallQueue };
