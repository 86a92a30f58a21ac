// Who may have the engine, and when?
//
// Calls that return promises wait for each other here, in the order in which they came: any number may read, one alone may
// write. They wait in JavaScript and not on a lock, because a thread of Node's pool that waits is missing for others.
'use strict';

class Turns {
  #readers = 0;
  #writing = false;
  #waiting = [];

  /** Runs work that changes nothing, and gives its outcome. */
  read(work) {
    return this.#enter(false, work);
  }

  /** Runs work that wants the engine for itself. */
  write(work) {
    return this.#enter(true, work);
  }

  #enter(writes, work) {
    return new Promise((resolve, reject) => {
      const run = async () => {
        try {
          resolve(await work());
        } catch (error) {
          reject(error);
        } finally {
          this.#leave(writes);
        }
      };
      this.#waiting.push({ writes, run });
      this.#admit();
    });
  }

  #leave(writes) {
    if (writes) this.#writing = false;
    else this.#readers -= 1;
    this.#admit();
  }

  #admit() {
    while (this.#waiting.length > 0) {
      const { writes, run } = this.#waiting[0];
      if (this.#writing || (writes && this.#readers > 0)) return;
      this.#waiting.shift();
      if (writes) this.#writing = true;
      else this.#readers += 1;
      run();
    }
  }
}

module.exports = { Turns };
