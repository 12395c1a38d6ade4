/**
 * Replays records into an empty state: the other half of `state-writer.ts`.
 *
 * R1  The state after replay equals the state the writer had when the last replayed record was
 *     sequenced: same revisions, versions, leases, attachments.
 * R2  Log revisions are dense from the checkpoint's on, and epochs never fall; otherwise CorruptionError.
 * R3  Log records at or below the checkpoint's revision change nothing but leases. Replaying
 *     those again is harmless: a lease's last record decides.
 * R4  The changes of the checkpoint's own revision are history again, as before the restart.
 * R5  Until `finish` the keys have no order: only their newest versions may be read.
 * Values of large blocks are not copied: the blocks become slabs.
 */
import { CorruptionError } from "./engines/engine.ts";
import type { RecordSource, ReplaySink } from "./engines/engine.ts";
import type { Leases } from "./leases.ts";
import type { Mvcc } from "./mvcc.ts";
import { decodeKeys, headerBytes, RecordKind, RecordReader } from "./record.ts";
import type { Slab } from "./slabs.ts";
import type { Row } from "./versions.ts";

export class Recovery implements ReplaySink {
  readonly #mvcc: Mvcc;
  readonly #leases: Leases;
  #compactRevision: number;
  #checkpointRevision: number;
  #epoch = 0;

  constructor(mvcc: Mvcc, leases: Leases) {
    this.#mvcc = mvcc;
    this.#leases = leases;
    this.#compactRevision = mvcc.compactRevision;
    this.#checkpointRevision = mvcc.headRevision;
    // A state that was loaded in another way (shared-state.ts) goes on by records of the log.
    if (mvcc.index.size === 0) mvcc.index.beginLoading();
  }

  /** The highest revision that the records so far allow to compact. */
  get compactRevision(): number {
    return this.#compactRevision;
  }

  checkpoint(revision: number): void {
    this.#mvcc.rebase(revision);
    this.#leases.clear();
    this.#compactRevision = revision;
    this.#checkpointRevision = revision;
  }

  records(bytes: Uint8Array, source: RecordSource): void {
    const { slab, start } = this.#mvcc.slabs.place(bytes);
    const reader = new RecordReader(slab.bytes);
    const from = { ...source, offset: source.offset - start };
    const end = start + bytes.length;
    for (let at = start; at < end; at += reader.size(at)) {
      if (source.kind === "checkpoint") this.#fromCheckpoint(reader, at, slab, from);
      else this.#fromLog(reader, at, slab, from);
    }
    this.#mvcc.slabs.dropIfDead(slab);
  }

  /**
   * Commits the recovered state, which is durable. Called after the last record, or after the last one known so
   * far.
   */
  finish(): void {
    this.#mvcc.index.endLoading();
    this.#mvcc.commit(this.#mvcc.headRevision);
    this.#mvcc.compact(this.#compactRevision);
    this.#mvcc.pruning.prune(this.#compactRevision, Number.POSITIVE_INFINITY);
  }

  #fromCheckpoint(reader: RecordReader, at: number, slab: Slab, source: RecordSource): void {
    const kind = reader.kind(at);
    if (kind === RecordKind.put) this.#statePut(reader, at, slab);
    else if (kind === RecordKind.group) this.#lastChanges(reader, at, slab, source);
    else if (kind === RecordKind.leaseGrant) this.#grant(reader, at);
    else if (kind !== RecordKind.checkpointEnd) throw unexpected(kind, at, source);
  }

  /** Adds a key's newest put, unless the checkpoint's changes record already contained it. */
  #statePut(reader: RecordReader, at: number, slab: Slab): void {
    if (this.#mvcc.newestRevision(reader.key(at)) === this.#checkpointRevision) return;
    this.#put(reader, at, slab);
  }

  #lastChanges(reader: RecordReader, at: number, slab: Slab, source: RecordSource): void {
    const revision = reader.revision(at);
    if (revision !== this.#checkpointRevision || this.#mvcc.index.size > 0) {
      throw corrupt("changes of another revision, or in a wrong place", at, source);
    }
    this.#mvcc.reopen(revision);
    this.#group(reader, at, slab, source);
  }

  #fromLog(reader: RecordReader, at: number, slab: Slab, source: RecordSource): void {
    this.#checkEpoch(reader.epoch(at), at, source);
    const kind = reader.kind(at);
    switch (kind) {
      case RecordKind.put:
        if (this.#isNext(reader, at, source)) {
          this.#mvcc.log.appendOne(reader.revision(at), this.#put(reader, at, slab));
        }
        break;
      case RecordKind.delete:
        if (this.#isNext(reader, at, source)) this.#delete(reader, at, source);
        break;
      case RecordKind.group:
        if (this.#isNext(reader, at, source)) this.#group(reader, at, slab, source);
        break;
      case RecordKind.leaseGrant:
        this.#grant(reader, at);
        break;
      case RecordKind.leaseEnd:
        this.#endLease(reader, at, source);
        break;
      case RecordKind.compact:
        this.#compact(reader.createRevision(at), at, source);
        break;
      case RecordKind.epoch:
        break;
      default:
        throw unexpected(kind, at, source);
    }
  }

  #put(reader: RecordReader, at: number, slab: Slab): Row {
    const key = reader.key(at);
    const lease = reader.lease(at);
    this.#leases.moveKey(key, this.#leaseOf(key), lease);
    return this.#mvcc.addPut({
      key,
      revision: reader.revision(at),
      createRevision: reader.createRevision(at),
      version: reader.version(at),
      lease,
      slab: slab.id,
      offset: at,
      valueLength: reader.bodyLength(at),
    });
  }

  #delete(reader: RecordReader, at: number, source: RecordSource): void {
    const row = this.#addDelete(reader.key(at), reader.revision(at), at, source);
    this.#mvcc.log.appendOne(reader.revision(at), row);
  }

  #addDelete(key: string, revision: number, at: number, source: RecordSource): Row {
    if (this.#mvcc.newest(key) === undefined && revision > this.#checkpointRevision) {
      throw corrupt(`delete of a key that is not there`, at, source);
    }
    this.#leases.moveKey(key, this.#leaseOf(key), 0n);
    return this.#mvcc.addDelete(key, revision);
  }

  /** The body contains the changes as records; the group's checksum covers all of them. */
  #group(reader: RecordReader, at: number, slab: Slab, source: RecordSource): void {
    const revision = reader.revision(at);
    const rows: Row[] = [];
    const end = at + reader.size(at);
    for (let one = at + headerBytes; one < end; one += reader.size(one)) {
      const size = reader.plausibleSize(one);
      if (size === 0 || one + size > end || reader.revision(one) !== revision) {
        throw corrupt("a group's change is malformed", one, source);
      }
      const kind = reader.kind(one);
      if (kind === RecordKind.put) rows.push(this.#put(reader, one, slab));
      else if (kind === RecordKind.delete) {
        rows.push(this.#addDelete(reader.key(one), revision, one, source));
      } else throw unexpected(kind, one, source);
    }
    if (rows.length !== reader.version(at)) throw corrupt("a group of wrong count", at, source);
    this.#mvcc.log.append(revision, rows);
  }

  #grant(reader: RecordReader, at: number): void {
    this.#leases.grant(reader.lease(at), reader.version(at));
  }

  #endLease(reader: RecordReader, at: number, source: RecordSource): void {
    const keys = decodeKeys(reader.body(at), reader.version(at));
    if (keys.length > 0 && this.#isNext(reader, at, source)) {
      const revision = reader.revision(at);
      const rows = keys.map((key) => this.#addDelete(key, revision, at, source));
      this.#mvcc.log.append(revision, rows);
    }
    this.#leases.end(reader.lease(at));
  }

  #compact(revision: number, at: number, source: RecordSource): void {
    if (revision > this.#mvcc.headRevision) {
      throw corrupt(`compaction of revision ${revision}, which is yet to come,`, at, source);
    }
    this.#compactRevision = Math.max(this.#compactRevision, revision);
  }

  #leaseOf(key: string): bigint {
    const row = this.#mvcc.newest(key);
    return row === undefined ? 0n : this.#mvcc.versions.lease(row);
  }

  #isNext(reader: RecordReader, at: number, source: RecordSource): boolean {
    const revision = reader.revision(at);
    const head = this.#mvcc.headRevision;
    if (revision === head + 1) return true;
    // The record is older than the checkpoint, which already contains its effect.
    if (revision <= this.#checkpointRevision && head === this.#checkpointRevision) return false;
    throw corrupt(`revision ${revision} where ${head + 1} was expected`, at, source);
  }

  #checkEpoch(epoch: number, at: number, source: RecordSource): void {
    if (epoch < this.#epoch) {
      throw corrupt(`epoch ${epoch} after epoch ${this.#epoch}`, at, source);
    }
    this.#epoch = epoch;
  }
}

function unexpected(kind: number, at: number, source: RecordSource): CorruptionError {
  return corrupt(`record of unexpected kind ${kind}`, at, source);
}

function corrupt(what: string, at: number, source: RecordSource): CorruptionError {
  return new CorruptionError(
    `${source.file}: ${what} at offset ${source.offset + at}; restore the directory from a backup`,
  );
}
