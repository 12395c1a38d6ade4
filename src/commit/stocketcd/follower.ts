/**
 * Follows every key below a prefix of an etcd cluster, and keeps a Mirror at its revisions.
 *
 *   load: range at one revision ──▶ watch from the next ──(cut: again, elsewhere)──▶ watch ...
 *     ▲                                    │ compacted, or a leap too long
 *     └────────────────────────────────────┘
 *
 * Holds  a revision is applied whole, once, in order; after a cut the watch goes on after the last whole one.
 *        After `reach(r)` the mirror comes to r soon, though nothing may change there: etcd is asked for its progress.
 *        Releases that tell it before they have sent the events (below 3.4.25 and 3.5.8) are not believed; there a key
 *        of our own is written instead, whose event is behind all others.
 */
import { given } from "#base/given.ts";
import type { EtcdClient, EtcdStream } from "#etcd/client.ts";
import { type Clock, sleep } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import { leapMax, type Mirror, type MirroredChange } from "#store/mirror.ts";
import type { AtRest } from "#store/at-rest.ts";
import type { Key, LeaseId, Revision } from "#store/store.ts";
import type { Input } from "#wire/etcd-codec.ts";
import type * as m from "#wire/etcd-messages.ts";
import { EventType } from "#wire/etcd-messages.ts";
import type { EtcdEndpoints } from "#etcd/endpoints.ts";
import type { KeyLayout } from "./layout.ts";
import {
  type ClusterReader,
  endOf,
  readCluster,
  readValue,
  type StockKeyValue,
  storedValues,
} from "./read-cluster.ts";

interface FollowerDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly endpoints: EtcdEndpoints;
  readonly layout: KeyLayout;
  readonly mirror: Mirror;
  /** Seals and opens values. Absent: values are not sealed. */
  readonly atRest?: AtRest;
  /** Called with the stored value of each key that arrives; undefined: the key was deleted. */
  readonly seen: (key: Key, stored: Uint8Array | undefined) => void;
}

type WatchStream = EtcdStream<m.Of<typeof m.watchRequest>, m.Of<typeof m.watchResponse>>;

const retryMs = 500;
/** Name of a key below the prefix, so that the watch sees its writes; no server reads it. */
const ownKey = "pilothouse-progress";
/** Time between two progress requests while a revision is awaited; upstream's is 100 ms. */
const progressMs = 5;

export class Follower {
  readonly #deps: FollowerDeps;
  readonly #reader: ClusterReader;
  readonly #stopping = new AbortController();
  #stream: WatchStream | undefined;
  #running: Promise<void> = Promise.resolve();
  /** Highest revision that a caller waits for. */
  #wanted = 0;
  #isAsking = false;
  #isProgressTrue = false;
  #problem: string | undefined;
  /** Changes so far of a revision whose events come in several messages. */
  #partial: { readonly revision: number; readonly changes: MirroredChange[] } | undefined;

  constructor(deps: FollowerDeps) {
    this.#deps = deps;
    this.#reader = {
      layout: deps.layout,
      ...given({ atRest: deps.atRest }),
      seen: (key, stored) => deps.seen(key, stored),
      // An unreadable object stays in etcd, and is not shown.
      unreadable: (key, error) =>
        deps.log.error("a stored object cannot be read", { key, error: String(error) }),
    };
  }

  /** Resolves when the mirror has its first state. Rejects when the state cannot be read. */
  async start(): Promise<void> {
    const client = this.#deps.endpoints.client();
    const { version } = await client.status();
    this.#isProgressTrue = tellsTrueProgress(version);
    if (!this.#isProgressTrue) {
      const remedy = "upgrade etcd to 3.5.8 or newer";
      this.#deps.log.warn("reads of the newest state cost etcd a write", { version, remedy });
    }
    await this.#load(client);
    this.#running = this.#follow();
  }

  /** Why the cluster cannot be followed at present: the watch ended, and etcd has not answered since. */
  get problem(): string | undefined {
    return this.#problem;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#stream?.close();
    await this.#running;
  }

  /** Makes the mirror advance to `revision` soon, even if no key below the prefix changes. */
  reach(revision: number): void {
    if (revision <= this.#deps.mirror.commitRevision) return;
    this.#wanted = Math.max(this.#wanted, revision);
    if (!this.#isAsking) void this.#askForProgress();
  }

  /** Never rejects: sending on a closed stream does nothing, and the stream's reader gets the error. */
  async #askForProgress(): Promise<void> {
    const { clock, mirror } = this.#deps;
    const { signal } = this.#stopping;
    this.#isAsking = true;
    for (let asked = 0; this.#wanted > mirror.commitRevision && !signal.aborted;) {
      if (this.#isProgressTrue) this.#stream?.send({ progress: {} });
      else if (asked < this.#wanted) asked = await this.#writeOwnKey();
      await sleep(clock, "etcd.progress", progressMs, signal);
    }
    this.#isAsking = false;
  }

  /** @returns the revision of the write; 0: etcd did not accept it. */
  async #writeOwnKey(): Promise<number> {
    const { endpoints, layout } = this.#deps;
    const write = endpoints.client().put({ key: layout.root + ownKey, value: new Uint8Array() });
    return write.then(
      ({ header }) => header?.revision ?? 0,
      () => 0,
    );
  }

  async #follow(): Promise<void> {
    const { clock, endpoints, log } = this.#deps;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const client = endpoints.client();
      try {
        const end = await this.#watch(client);
        if (signal.aborted) return;
        if (end === "reload") await this.#load(client);
        else throw new Error(end);
      } catch (error) {
        if (signal.aborted) return;
        this.#problem = `the watch on etcd ended: ${String(error)}`;
        log.warn("the watch on etcd ended; it goes on", { error: String(error) });
        endpoints.leave(client);
        await sleep(clock, "client.backoff", retryMs, signal);
      }
    }
  }

  async #load(client: EtcdClient): Promise<void> {
    const { revision, kvs } = await readCluster(client, this.#reader);
    this.#partial = undefined;
    this.#deps.mirror.load(revision, kvs);
  }

  /** @returns why the watch ended. */
  async #watch(client: EtcdClient): Promise<string> {
    const { layout, mirror } = this.#deps;
    const stream: WatchStream = client.watch();
    this.#stream = stream;
    const startRevision = mirror.commitRevision + 1;
    const rangeEnd = endOf(layout.root);
    const create: Input<m.Of<typeof m.watchCreateRequest>> = {
      key: layout.root,
      rangeEnd,
      startRevision,
      progressNotify: true,
      fragment: true,
    };
    stream.send({ create });
    try {
      for (;;) {
        const answer = await stream.next();
        if (answer === undefined) return stream.error?.message ?? "the stream ended";
        this.#problem = undefined;
        const kvs = answer.events.flatMap(({ kv }) => kv ?? []);
        await this.#deps.atRest?.prepare(storedValues(kvs, layout));
        const end = this.#take(answer);
        if (end !== undefined) return end;
      }
    } finally {
      this.#stream = undefined;
      this.#partial = undefined;
      stream.close();
    }
  }

  #take(answer: m.Of<typeof m.watchResponse>): string | undefined {
    if (answer.compactRevision > 0) return "reload";
    if (answer.canceled) return `etcd cancelled the watch: ${answer.cancelReason}`;
    const revision = answer.header?.revision ?? 0;
    if (revision - this.#deps.mirror.commitRevision > leapMax) return "reload";
    for (const event of answer.events) this.#event(event);
    if (answer.fragment || answer.created) return undefined;
    this.#flush();
    // An answer without events is a progress notification: all events up to its revision were sent.
    if (answer.events.length === 0 && this.#isProgressTrue) this.#deps.mirror.advance(revision);
    return undefined;
  }

  #event({ type, kv }: m.Of<typeof m.event>): void {
    if (kv === undefined) return;
    if (this.#partial !== undefined && this.#partial.revision !== kv.modRevision) this.#flush();
    this.#partial ??= { revision: kv.modRevision, changes: [] };
    const key = this.#deps.layout.fromStock(kv.key);
    if (key === undefined) return;
    this.#partial.changes.push(this.#change(key, type, kv));
  }

  /** Returns the change of a key. An object that became unreadable counts as deleted, rather than stay in its old state. */
  #change(key: Key, type: number, kv: StockKeyValue): MirroredChange {
    const isGone = type === EventType.delete;
    this.#deps.seen(key, isGone ? undefined : kv.value);
    const value = isGone ? undefined : readValue(key, kv, this.#reader);
    if (value === undefined) return { key, kv: undefined };
    const { createRevision, version, lease } = kv;
    return {
      key,
      kv: { value, createRevision: createRevision as Revision, version, lease: lease as LeaseId },
    };
  }

  #flush(): void {
    const partial = this.#partial;
    this.#partial = undefined;
    if (partial === undefined || partial.revision <= this.#deps.mirror.commitRevision) return;
    this.#deps.mirror.apply(partial.revision, partial.changes);
  }
}

/** Whether progress notifications of this etcd version, such as `3.5.9`, are reliable. */
function tellsTrueProgress(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version
    .split(".")
    .map((part) => Number.parseInt(part, 10));
  if (major !== 3) return major > 3;
  if (minor === 4) return patch >= 25;
  return minor === 5 ? patch >= 8 : minor > 5;
}
