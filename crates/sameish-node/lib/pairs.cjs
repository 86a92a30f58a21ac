// Iteration over all pairs of an engine with `for await`.
'use strict';

const { callNative, callNativeAsync } = require('./native.cjs');

/** Closes streams whose iterators were garbage collected before the end. */
const abandoned = new FinalizationRegistry((stream) => {
  stream.close().catch(() => {});
});

class PairWalk {
  /** The work done; `null` before the end. */
  effort = null;
  #engine;
  #queue;

  constructor(engine, queue) {
    this.#engine = engine;
    this.#queue = queue;
  }

  [Symbol.asyncIterator]() {
    // This object must not refer to the iterator, which would then never be collected.
    const stream = { close: async () => {} };
    const iterator = this.#pairs(stream);
    abandoned.register(iterator, stream);
    return iterator;
  }

  /** Yields all pairs. The engine cannot be changed until the end or until the loop is left, however few pairs there are. */
  async *#pairs(stream) {
    const endIteration = await this.#queue.startIteration();
    try {
      const nativeStream = callNative(() => this.#engine.pairStream());
      stream.close = () => callNativeAsync(() => nativeStream.close()).finally(endIteration);
      const next = () => callNativeAsync(() => nativeStream.next());
      for (let chunk = await next(); chunk.length > 0; chunk = await next()) yield* chunk;
      this.effort = nativeStream.effort;
    } finally {
      await stream.close();
      endIteration();
    }
  }
}

module.exports = { PairWalk };
