/**
 * Removes compacted history, a few revisions at a time, and keeps the part of it that a checkpoint
 * under way still reads.
 *
 * Holds  only versions visible from `revision` on are kept. The oldest row of each key is the newest one at
 *        or below `revision`. It is a tombstone only if it was made at `revision`: the changes of that revision are
 *        kept in the log, for watches that begin there.
 *        A reader holds at most one row per key, and none of a key that it has passed.
 */
import { assert, must } from "#base/assert.ts";
import { BTree } from "#base/btree.ts";
import type { RevisionLog } from "./log.ts";
import { noRow } from "./versions.ts";
import type { Row, Versions } from "./versions.ts";

/** The state that pruning works on. `rebase` of the state replaces its tables. */
interface PrunedState {
  readonly versions: Versions;
  /** Newest row of each key. */
  readonly index: BTree<Row>;
  readonly log: RevisionLog;
  readonly compactRevision: number;
  /** Frees a row that nothing refers to. */
  drop(row: Row): void;
}

/** What a reader of the state at `revision` still needs. */
interface Held {
  readonly revision: number;
  /** The reader has read all keys below this one. */
  from: string;
  readonly rows: BTree<Row>;
}

export class Pruning {
  readonly #state: PrunedState;
  #revision: number;
  #held: Held | undefined;

  constructor(state: PrunedState, revision: number) {
    this.#state = state;
    this.#revision = revision;
  }

  /** The state holds what is visible from this revision on. */
  get revision(): number {
    return this.#revision;
  }

  /** Everything was dropped; history starts again at `revision`. */
  rebase(revision: number): void {
    this.#revision = revision;
  }

  /**
   * Removes versions that only revisions below `revision` could see. Processes at most `revisionsMax` of the
   * revisions that have not been done yet. @returns whether all is done.
   */
  prune(revision: number, revisionsMax: number): boolean {
    const until = Math.min(revision, this.#revision + revisionsMax);
    if (until <= this.#revision) return until === revision || revision < this.#revision;
    const { log, compactRevision } = this.#state;
    assert(until <= compactRevision, "history is pruned that is not compacted", { until });
    for (let r = this.#revision + 1; r <= until; r++) {
      if (r - 1 > log.base) for (const row of log.rows(r - 1)) this.#pruneRow(row);
      this.#pruneOlder(r);
    }
    this.#revision = until;
    log.trim(until - 1);
    return until === revision;
  }

  /** Drops what `revision` replaced; its own changes stay until the next revision is pruned. */
  #pruneOlder(revision: number): void {
    const { log, versions } = this.#state;
    const one = log.row(revision);
    for (const row of one === undefined ? log.rows(revision) : [one]) {
      const older = versions.previous(row);
      if (older !== noRow && versions.revision(older) < revision) this.#dropOlder(row);
    }
  }

  #pruneRow(row: Row): void {
    this.#dropOlder(row);
    if (this.#state.versions.isTombstone(row)) this.#pruneTombstone(row);
  }

  #pruneTombstone(row: Row): void {
    const { index, versions } = this.#state;
    const key = versions.key(row);
    let newer = index.get(key) as Row;
    if (newer === row) index.delete(key);
    else {
      while (versions.previous(newer) !== row) newer = versions.previous(newer);
      versions.setPrevious(newer, noRow);
    }
    this.#state.drop(row);
  }

  #dropOlder(row: Row): void {
    const { versions } = this.#state;
    let older = versions.previous(row);
    versions.setPrevious(row, noRow);
    if (this.#held !== undefined && versions.revision(row) > this.#held.revision) {
      older = this.#dropToHeld(older, this.#held);
    }
    while (older !== noRow) {
      const next = versions.previous(older);
      this.#state.drop(older);
      older = next;
    }
  }

  /** Drops rows down to the one that stays held. @returns the rows behind it. */
  #dropToHeld(newest: Row, held: Held): Row {
    const { versions } = this.#state;
    let row = newest;
    while (row !== noRow && versions.revision(row) > held.revision) {
      const next = versions.previous(row);
      this.#state.drop(row);
      row = next;
    }
    if (row === noRow || versions.isTombstone(row) || versions.key(row) < held.from) return row;
    const behind = versions.previous(row);
    versions.setPrevious(row, noRow);
    held.rows.set(versions.key(row), row);
    return behind;
  }

  /**
   * From now on, rows that are pruned but visible at `revision`, the only revision that is held, stay readable
   * by `heldFrom`: at most one version per key, until the reader has passed it.
   */
  hold(revision: number): void {
    assert(this.#held === undefined && revision === this.#revision, "held too late", { revision });
    this.#held = { revision, from: "", rows: new BTree<Row>() };
  }

  /** Keys and rows pruned since `hold` that the reader has not read yet, from `start` on, in order. */
  heldFrom(start: string): Generator<[string, Row]> {
    return must(this.#held, "nothing is held").rows.entries(start);
  }

  /** The reader will not read keys below `from` any more; undefined: `hold` has ended. */
  passed(from: string | undefined): void {
    const held = must(this.#held, "nothing is held");
    const gone: [string, Row][] = [];
    held.rows.scan(held.from, from, (key, row) => void gone.push([key, row]));
    for (const [key, row] of gone) {
      held.rows.delete(key);
      this.#state.drop(row);
    }
    if (from === undefined) this.#held = undefined;
    else held.from = from;
  }
}
