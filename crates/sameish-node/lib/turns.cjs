// Who may have the engine, and when?
//
// Calls that return promises are carried out here in the order in which they came: any number may read, one alone may write, and
// a call that gathers its input first has its place from the beginning. They wait in JavaScript and not on a lock, because a
// thread of Node's pool that waits is missing for others.
//
// Nobody waits for himself. While a walk over pairs is under way or waits for its turn, calls that write are refused, because the
// next step of the walk may be waiting for them. An input that asks the engine which waits for that input is refused too.
'use strict';

const { AsyncLocalStorage } = require('node:async_hooks');

/** Inputs that are being gathered, each with the turns that wait for it, for whoever is called by them. */
const gathering = new AsyncLocalStorage();
let gatherings = 0;

class Turns {
  /** Reading calls and walks that have their turn. */
  #readers = 0;
  /** Whether a writing call has its turn, and whether it has begun to change the engine. */
  #writing = false;
  #changing = false;
  /** Walks that have their turn or wait for it. */
  #walks = 0;
  #waiting = [];

  /** Runs work that changes nothing, and gives its outcome. */
  read(work) {
    return this.#run(false, work);
  }

  /** Runs work that wants the engine for itself. Where there is something to `gather` first, the turn is taken before. */
  write(work, gather) {
    if (this.#walks > 0) return Promise.reject(walked());
    return this.#run(true, async () => {
      if (gather !== undefined) await this.#gathered(gather);
      this.#changing = true;
      try {
        return await work();
      } finally {
        this.#changing = false;
      }
    });
  }

  /** Waits for the turn of a walk, and gives the function that ends it. */
  async walk() {
    this.#refuseNested();
    this.#walks += 1;
    await new Promise((resolve) => {
      this.#enter(false, resolve);
    });
    let under = true;
    return () => {
      if (!under) return;
      under = false;
      this.#walks -= 1;
      this.#leave(false);
    };
  }

  /** Lets a call without promise through, or refuses it where it would have to wait; `form` is the one that may wait. */
  now(writes, form) {
    if (writes && this.#walks > 0) throw walked();
    const taken = writes ? this.#writing || this.#readers > 0 : this.#changing;
    if (taken) throw busy(`an async call of this engine is under way: await it first, or use \`${form}\``);
  }

  #run(writes, work) {
    return new Promise((resolve, reject) => {
      this.#refuseNested();
      this.#enter(writes, async () => {
        try {
          resolve(await work());
        } catch (error) {
          reject(error);
        } finally {
          this.#leave(writes);
        }
      });
    });
  }

  async #gathered(gather) {
    const input = { turns: this, open: true };
    gatherings += 1;
    try {
      await gathering.run([input, ...(gathering.getStore() ?? [])], gather);
    } finally {
      input.open = false;
      gatherings -= 1;
      // Following who calls whom costs something, which nobody should pay for longer than needed.
      if (gatherings === 0) gathering.disable();
    }
  }

  #refuseNested() {
    const inputs = gathering.getStore() ?? [];
    if (!inputs.some(({ turns, open }) => turns === this && open)) return;
    throw busy('the input of an async call of this engine can not wait for the engine: use a form without promise there');
  }

  #enter(writes, begin) {
    this.#waiting.push({ writes, begin });
    this.#admit();
  }

  #leave(writes) {
    if (writes) this.#writing = false;
    else this.#readers -= 1;
    this.#admit();
  }

  #admit() {
    while (this.#waiting.length > 0) {
      const { writes, begin } = this.#waiting[0];
      if (this.#writing || (writes && this.#readers > 0)) return;
      this.#waiting.shift();
      if (writes) this.#writing = true;
      else this.#readers += 1;
      begin();
    }
  }
}

function walked() {
  return busy('a walk with `eachPair` is under way: end it or leave it first');
}

function busy(message) {
  return Object.assign(new Error(message), { code: 'ERR_SAMEISH_BUSY' });
}

module.exports = { Turns };
