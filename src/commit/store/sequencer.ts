/**
 * Turns one command into a decision. It checks the command against the newest state (durable or not) and writes the
 * command's changes into state and batch.
 *
 * It has no clock, does no I/O, and calls nothing but a transaction's function; the same commands give
 * the same batches and decisions. It is synchronous, so there are no locks.
 *
 * S1  Revisions are dense: a command takes the next one or none, and a refused command changes nothing.
 * S2  An answer that depends on a sequenced but not yet durable change names that revision in `after`.
 * S3  One command at a time: a transaction's function may not submit another.
 */
import { assert, unreachable } from "#base/assert.ts";
import type { Batch } from "./batch.ts";
import type {
  After,
  Answer,
  Command,
  Decision,
  DeleteCommand,
  Effect,
  EndLeaseCommand,
  GrantLeaseCommand,
  PutCommand,
  TransactCommand,
} from "./command.ts";
import type { Leases } from "./leases.ts";
import type { Mvcc } from "./mvcc.ts";
import { recordSize } from "./record.ts";
import { tooLarge } from "./refusals.ts";
import { StateWriter } from "./state-writer.ts";
import type { StateQuota } from "./options.ts";
import type { Key, KeyValue, Revision, WriteRefused } from "./store.ts";
import { Staging } from "./transaction.ts";
import type { Change } from "./transaction.ts";
import type { Row } from "./versions.ts";

interface SequencerOptions {
  readonly epoch: number;
  readonly quotaBytes: number;
  readonly stateQuota?: StateQuota;
  readonly valueBytesMax: number;
}

/** Growth by puts: bytes of records, and keys and bytes of the state. */
interface Growth {
  records: number;
  keys: number;
  bytes: number;
}

export class Sequencer {
  readonly #mvcc: Mvcc;
  readonly #leases: Leases;
  readonly #writer: StateWriter;
  readonly #options: SequencerOptions;
  #isRunning = false;

  constructor(state: { readonly mvcc: Mvcc; readonly leases: Leases }, options: SequencerOptions) {
    this.#mvcc = state.mvcc;
    this.#leases = state.leases;
    this.#writer = new StateWriter(state, options.epoch);
    this.#options = options;
  }

  /** Decides `command` and adds its changes to `batch`, which has room for them. */
  sequence(batch: Batch, command: Command): Decision {
    assert(!this.#isRunning, "a transaction's function submitted a command");
    const headBefore = this.#mvcc.headRevision;
    const itemsBefore = batch.items;
    const decided = this.#decide(batch, command);
    const records = batch.items - itemsBefore;
    const revisions = this.#mvcc.headRevision - headBefore;
    assert(records <= 1 && revisions <= records, "a command took more than one revision");
    assert(batch.lastRevision === this.#mvcc.headRevision, "a revision is missing in the batch");
    return decided;
  }

  #decide(batch: Batch, command: Command): Decision {
    switch (command.kind) {
      case "put":
        return this.#put(batch, command);
      case "delete":
        return this.#delete(batch, command);
      case "transact":
        return this.#transact(batch, command);
      case "grant-lease":
        return this.#grantLease(batch, command);
      case "end-lease":
        return this.#endLease(batch, command);
      case "compact":
        this.#writer.compact(batch, command.revision);
        return decide(durable, "all", { kind: "compacted", revision: command.revision });
      case "epoch":
        this.#writer.epoch(batch);
        return decide(durable, "all");
      case "barrier":
        return decide(durable, "all");
      default:
        return unreachable(command);
    }
  }

  #put(batch: Batch, { key, value, guard, lease }: PutCommand): Decision {
    const mvcc = this.#mvcc;
    const before = mvcc.newest(key);
    if (guard !== undefined && guard.modRevision !== this.#revisionOf(before)) {
      return this.#conflict(key, before);
    }
    if (lease !== 0n && !this.#leases.has(lease)) return decide({ kind: "lease-not-found" }, "all");
    const previous = before === undefined ? undefined : mvcc.keyValue(before);
    const refused = this.#overQuota(growthOf(key, value, previous));
    if (refused !== undefined) return decide(refused, 0);
    const revision = this.#writer.put(batch, key, value, lease, previous) as Revision;
    return decide({ kind: "committed", revision, previous }, revision);
  }

  #delete(batch: Batch, { key, guard }: DeleteCommand): Decision {
    const mvcc = this.#mvcc;
    const before = mvcc.newest(key);
    if (guard !== undefined && guard.modRevision !== this.#revisionOf(before)) {
      return this.#conflict(key, before);
    }
    if (before === undefined) return decide({ kind: "missing" }, mvcc.newestRevision(key));
    const previous = mvcc.keyValue(before);
    const revision = this.#writer.delete(batch, key, previous) as Revision;
    return decide({ kind: "committed", revision, previous }, revision);
  }

  #transact(batch: Batch, { run, noSpace }: TransactCommand<unknown>): Decision {
    const staging = new Staging(this.#mvcc, (id) => this.#leases.has(id));
    const answer = this.#run(run, staging);
    const changes = staging.finish();
    if (answer.kind === "done") {
      const refused = this.#refuseChanges(changes, noSpace);
      if (refused !== undefined) return decide(refused, 0);
      this.#writer.change(batch, changes);
    }
    return decide(answer, staging.missedLease ? "all" : this.#mvcc.headRevision);
  }

  /** An exception of the function is passed to its caller; the store has not changed. */
  #run(run: TransactCommand<unknown>["run"], staging: Staging): Answer {
    this.#isRunning = true;
    try {
      return { kind: "done", answer: run(staging) };
    } catch (error) {
      return { kind: "threw", error };
    } finally {
      this.#isRunning = false;
    }
  }

  #grantLease(batch: Batch, { id, ttlMs }: GrantLeaseCommand): Decision {
    const isThere = this.#leases.has(id);
    if (isThere) return decide({ kind: "lease", isThere }, "all");
    this.#writer.grantLease(batch, id, ttlMs);
    return decide({ kind: "lease", isThere }, "all", { kind: "lease-granted", id });
  }

  #endLease(batch: Batch, { id }: EndLeaseCommand): Decision {
    const isThere = this.#leases.has(id);
    if (!isThere) return decide({ kind: "lease", isThere }, "all");
    const lease = this.#writer.endLease(batch, id);
    return decide({ kind: "lease", isThere }, "all", { kind: "lease-ended", lease });
  }

  #conflict(key: Key, before: Row | undefined): Decision {
    const actual = before === undefined ? undefined : this.#mvcc.keyValue(before);
    return decide({ kind: "conflict", actual }, this.#mvcc.newestRevision(key));
  }

  #revisionOf(row: Row | undefined): number {
    return row === undefined ? 0 : this.#mvcc.versions.revision(row);
  }

  #refuseChanges(
    changes: readonly Change[],
    noSpace: WriteRefused | undefined,
  ): WriteRefused | undefined {
    const sum: Growth = { records: 0, keys: 0, bytes: 0 };
    for (const change of changes) {
      if (change.kind !== "put") continue;
      const { key, value } = change.kv;
      const refused = tooLarge(key, value, this.#options.valueBytesMax) ?? noSpace;
      if (refused !== undefined) return refused;
      addGrowth(sum, growthOf(key, value, change.before));
    }
    return sum.records === 0 ? undefined : this.#overQuota(sum);
  }

  #overQuota(growth: Growth): WriteRefused | undefined {
    const { quotaBytes } = this.#options;
    const { bytes } = this.#mvcc;
    const asked = growth.records;
    if (bytes + asked <= quotaBytes) return this.#overStateQuota(growth);
    const message = `database is full: ${bytes} bytes held, ${asked} more asked for, quota ${quotaBytes}; compact or delete`;
    return { kind: "no-space", message };
  }

  #overStateQuota(growth: Growth): WriteRefused | undefined {
    const { stateQuota } = this.#options;
    if (stateQuota === undefined || growth.bytes <= 0) return undefined;
    const { keysMax, bytesMax } = stateQuota;
    const { stateBytes } = this.#mvcc;
    const keys = this.#mvcc.stateKeys;
    const isNew = growth.keys > 0;
    if (isNew && keys + growth.keys > keysMax) {
      const message = `database is full: ${keys} keys of ${keysMax}; delete`;
      return { kind: "no-space", message };
    }
    const bound = isNew ? bytesMax : bytesMax + bytesMax / reserveShare;
    if (stateBytes + growth.bytes <= bound) return undefined;
    const message = `database is full: ${stateBytes} bytes of state, ${growth.bytes} more asked for, quota ${bytesMax}; delete`;
    return { kind: "no-space", message };
  }
}

/** One part in this many of the state quota is reserved for updates of existing keys. */
const reserveShare = 8;

function growthOf(key: Key, value: Uint8Array, previous: KeyValue | undefined): Growth {
  const size = recordSize(key.length, value.length);
  if (previous === undefined) return { records: size, keys: 1, bytes: size };
  const before = recordSize(key.length, previous.value.length);
  return { records: size, keys: 0, bytes: size - before };
}

function addGrowth(sum: Growth, { records, keys, bytes }: Growth): void {
  sum.records += records;
  sum.keys += keys;
  sum.bytes += bytes;
}

const durable = { kind: "durable" } as const;

function decide(answer: Answer, after: After, effect?: Effect): Decision {
  return { answer, after, effect };
}
