// The result of `dedup`.
'use strict';

const check = require('./check.cjs');

/** Center of a row that matches a document of `against`. */
const KNOWN = -1;

class Dedup {
  #centers;
  #ids;
  #clusters;
  #counts;

  /** `ids` has the id of each row, or is `null` if rows identify documents. */
  constructor({ centers, ids, clusters, counts }) {
    this.#centers = centers;
    this.#ids = ids;
    this.#clusters = clusters;
    this.#counts = counts;
  }

  get centers() {
    return this.#centers;
  }

  get kept() {
    return this.#rows((center, row) => center === row);
  }

  get removed() {
    return this.#rows((center, row) => center !== row && center >= KNOWN);
  }

  get known() {
    return this.#rows((center) => center === KNOWN);
  }

  get unused() {
    return this.#rows((center) => center < KNOWN);
  }

  get keptIds() {
    return this.#idsOf(this.kept);
  }

  get removedIds() {
    return this.#idsOf(this.removed);
  }

  get clusters() {
    return this.#clusters;
  }

  get summary() {
    const kept = this.kept.length;
    const removed = this.removed.length;
    const largest = this.#clusters.reduce((most, { members }) => Math.max(most, members.length), Math.min(kept, 1));
    return {
      documents: kept + removed,
      kept,
      removed,
      known: this.known.length,
      clusters: this.#clusters.length,
      largestCluster: largest,
      ...this.#counts,
    };
  }

  take(items) {
    if (!Array.isArray(items)) throw check.invalidType('items', items, 'an array with one item per row');
    if (items.length !== this.#centers.length) {
      throw check.outOfRange('items.length', items.length, `${this.#centers.length}, the number of rows that were deduplicated`);
    }
    return items.filter((_, row) => this.#centers[row] === row);
  }

  #rows(includes) {
    const rows = [];
    this.#centers.forEach((center, row) => {
      if (includes(center, row)) rows.push(row);
    });
    return rows;
  }

  #idsOf(rows) {
    return this.#ids === null ? rows : rows.map((row) => this.#ids[row]);
  }

  /** Describes the result in the console. */
  [Symbol.for('nodejs.util.inspect.custom')]() {
    const { documents, kept, removed } = this.summary;
    return `Dedup { documents: ${documents}, kept: ${kept}, removed: ${removed} }`;
  }
}

module.exports = { Dedup };
