// All pairs of an engine, however many, to be walked with `for await`.
'use strict';

const { asked, askedLater } = require('./native.cjs');

/** Ends walks whose iterators nobody has any more. */
const abandoned = new FinalizationRegistry((walk) => {
  walk.leave().catch(() => {});
});

class PairWalk {
  /** What it took; `null` before the end. */
  effort = null;
  #native;
  #turns;

  constructor(native, turns) {
    [this.#native, this.#turns] = [native, turns];
  }

  [Symbol.asyncIterator]() {
    // What ends the walk must not know the iterator, or that would never be without an owner.
    const walk = { leave: async () => {} };
    const iterator = this.#pairs(walk);
    abandoned.register(iterator, walk);
    return iterator;
  }

  /** From the first step to the end, or until it is left, the engine counts as walked: however many pairs there are. */
  async *#pairs(walk) {
    const leave = await this.#turns.walk();
    try {
      const stream = asked(() => this.#native.pairStream());
      walk.leave = () => askedLater(() => stream.close()).finally(leave);
      const next = () => askedLater(() => stream.next());
      for (let part = await next(); part.length > 0; part = await next()) yield* part;
      this.effort = stream.work;
    } finally {
      await walk.leave();
      leave();
    }
  }
}

module.exports = { PairWalk };
