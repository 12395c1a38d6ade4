/**
 * A store's state and history in the form that another thread of the process takes over: shared slabs, and the place of
 * each record in them. No value is copied; everything else about a version is in its record.
 *
 * Holds  the state that `loadState` made answers every read and every watch from `base` on as the store would at
 *        `head`.
 * Cost   one pass over the keys without a pause, about a microsecond per key on either side, when a thread starts.
 */
import type { Leases } from "./leases.ts";
import type { Mvcc } from "./mvcc.ts";
import { RecordReader } from "./record.ts";
import type { Slab } from "./slabs.ts";
import { noRow, type Row } from "./versions.ts";

/** Plain data, and shared memory: it may be posted to another thread. */
export interface SharedState {
  /** What is visible at this revision is in `state`; what changed after it is in `log`. */
  readonly base: number;
  readonly head: number;
  readonly slabs: readonly SharedSlab[];
  /** The place of a record: index in `slabs`, offset. */
  readonly state: Int32Array;
  /** For each revision after `base`: how many changes, then the place of each; -1 and an index in `deleted` for a delete. */
  readonly log: Int32Array;
  readonly deleted: readonly string[];
  readonly leases: readonly { readonly id: bigint; readonly ttlMs: number }[];
}

export interface SharedSlab {
  readonly serial: number;
  readonly bytes: Uint8Array;
}

interface StateOf {
  readonly mvcc: Mvcc;
  readonly leases: Leases;
}

/** Of a store with shared slabs. `head`: a durable revision. */
export function sharedState({ mvcc, leases }: StateOf, head: number): SharedState {
  const base = mvcc.compactRevision;
  const places = new Places(mvcc);
  mvcc.index.scan("", undefined, (_key, newest) => {
    const row = mvcc.visible(newest, base);
    if (row !== noRow) places.addTo(places.state, row);
  });
  const deleted: string[] = [];
  const log: number[] = [];
  for (let revision = base + 1; revision <= head; revision++) {
    const rows = mvcc.log.rows(revision);
    log.push(rows.length);
    for (const row of rows) {
      if (mvcc.versions.isTombstone(row)) log.push(-1, deleted.push(mvcc.versions.key(row)) - 1);
      else places.addTo(log, row);
    }
  }
  const [state, changes] = [Int32Array.from(places.state), Int32Array.from(log)];
  return {
    base,
    head,
    slabs: places.slabs,
    state,
    log: changes,
    deleted,
    leases: [...leases.allOfDurable()],
  };
}

class Places {
  readonly state: number[] = [];
  readonly slabs: SharedSlab[] = [];
  readonly #mvcc: Mvcc;
  readonly #indexes = new Map<Slab, number>();

  constructor(mvcc: Mvcc) {
    this.#mvcc = mvcc;
  }

  addTo(places: number[], row: Row): void {
    const { versions, slabs } = this.#mvcc;
    const slab = slabs.get(versions.slab(row));
    const known = this.#indexes.get(slab);
    const index = known ?? this.slabs.push({ serial: slab.serial, bytes: slab.bytes }) - 1;
    if (known === undefined) this.#indexes.set(slab, index);
    places.push(index, versions.offset(row));
  }
}

/** Into an empty state. @returns the writer's newest slab among those taken over, and its serial; undefined: none. */
export function loadState(
  into: StateOf,
  shared: SharedState,
): { readonly slab: Slab; readonly serial: number } | undefined {
  into.mvcc.rebase(shared.base);
  for (const { id, ttlMs } of shared.leases) into.leases.grant(id, ttlMs);
  const loader = new Loader(into, shared);
  loader.load();
  into.mvcc.commit(shared.head);
  return loader.newest();
}

class Loader {
  readonly #into: StateOf;
  readonly #shared: SharedState;
  readonly #slabs: readonly {
    readonly slab: Slab;
    readonly serial: number;
    readonly reader: RecordReader;
  }[];

  constructor(into: StateOf, shared: SharedState) {
    this.#into = into;
    this.#shared = shared;
    const bySerial = shared.slabs.map(({ bytes, serial }, index) => ({ bytes, serial, index }));
    const slabs = bySerial
      .toSorted((a, b) => a.serial - b.serial)
      .map(({ bytes, serial, index }) => {
        const slab = into.mvcc.slabs.attach(bytes);
        return { slab, serial, index, reader: new RecordReader(bytes) };
      });
    this.#slabs = slabs.toSorted((a, b) => a.index - b.index);
  }

  load(): void {
    const { mvcc } = this.#into;
    const { base, head, state, log, deleted } = this.#shared;
    mvcc.index.beginLoading();
    for (let at = 0; at < state.length; at += 2) this.#put(state, at);
    let at = 0;
    for (let revision = base + 1; revision <= head; revision++) {
      const rows: Row[] = [];
      const end = at + 1 + 2 * (log[at] ?? 0);
      for (at++; at < end; at += 2) {
        const isDelete = log[at] === -1;
        rows.push(
          isDelete ? this.#delete(deleted[log[at + 1] ?? 0] ?? "", revision) : this.#put(log, at),
        );
      }
      mvcc.log.append(revision, rows);
    }
    mvcc.index.endLoading();
  }

  /** Seals the others. */
  newest(): { readonly slab: Slab; readonly serial: number } | undefined {
    const newest = this.#slabs.toSorted((a, b) => b.serial - a.serial)[0];
    for (const { slab } of this.#slabs) {
      if (slab !== newest?.slab) this.#into.mvcc.slabs.seal(slab);
    }
    return newest;
  }

  #put(places: Int32Array, at: number): Row {
    const { mvcc } = this.#into;
    const place = this.#slabs[places[at] ?? 0];
    const offset = places[at + 1] ?? 0;
    if (place === undefined) throw new Error("a record in a slab that was not shared");
    const { reader, slab } = place;
    const key = reader.key(offset);
    const lease = reader.lease(offset);
    this.#moveKey(key, lease);
    return mvcc.addPut({
      key,
      revision: reader.revision(offset),
      createRevision: reader.createRevision(offset),
      version: reader.version(offset),
      lease,
      slab: slab.id,
      offset,
      valueLength: reader.bodyLength(offset),
    });
  }

  #delete(key: string, revision: number): Row {
    this.#moveKey(key, 0n);
    return this.#into.mvcc.addDelete(key, revision);
  }

  #moveKey(key: string, lease: bigint): void {
    const { mvcc, leases } = this.#into;
    const before = mvcc.newest(key);
    leases.moveKey(key, before === undefined ? 0n : mvcc.versions.lease(before), lease);
  }
}
