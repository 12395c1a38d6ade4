/** Watch caches fed by mirrors of an API server whose streams and lists misbehave. */
import assert from "node:assert/strict";
import { silentLog } from "#platform/log.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { memberHash } from "#relay/views/digest.ts";
import { relayLimits } from "#relay/limits.ts";
import { Mirror } from "#relay/mirror/mirror.ts";
import { FakeUpstream, podKind } from "#relay/testing/fake-upstream.ts";
import { Upstream } from "#relay/mirror/upstream.ts";
import { MemoPool } from "#forms/memo-pool.ts";
import { compilePredicate } from "#watch/predicate.ts";
import type { WatchSink } from "#watch/watch-item.ts";
import type { Asked, Draft, Fault, Fed, OpenWatch, Written } from "./fed.ts";

const limits = { ...relayLimits, pageObjects: 3, listStepsPerTurn: 2, flushMs: 0, gapsMax: 8 };
const everything = compilePredicate({ namespace: "", namespaced: true });

interface RelayFedOptions {
  readonly seed: number;
  readonly ringItemsMax: number;
  /** Whether the upstreams keep their order and their history in this run. */
  readonly calm: boolean;
}

export async function relayFed(options: RelayFedOptions): Promise<Fed> {
  const fed = new RelayFed(options);
  await fed.time(1);
  return fed;
}

class RelayFed implements Fed {
  readonly replicas = 2;
  readonly partial = true;
  readonly digestOf = memberHash;
  readonly windowMs = limits.latestWindowMs;
  readonly #calm: boolean;
  readonly #all: readonly Replica[];

  constructor(options: RelayFedOptions) {
    this.#calm = options.calm;
    this.#all = [0, 1].map((at) => new Replica({ ...options, seed: options.seed + at }));
  }

  get history(): readonly Written[] {
    return this.#replica(0).fake.events;
  }

  get head(): number {
    return this.#replica(0).fake.revision;
  }

  get exact(): boolean {
    return this.#all.every(({ mirror }) => mirror.counts.reconciled === 0);
  }

  write(draft: Draft): Promise<void> {
    for (const { fake } of this.#all) fake.write(...draft);
    return Promise.resolve();
  }

  skip(): Promise<void> {
    for (const { fake } of this.#all) fake.skip();
    return Promise.resolve();
  }

  fault(at: number, fault: Fault): Promise<void> {
    return this.#replica(at).fault(fault);
  }

  async time(ms: number): Promise<void> {
    for (const replica of this.#all) await replica.time(ms);
  }

  jump(ms: number): void {
    for (const { clock } of this.#all) clock.jumpWall(ms);
  }

  monotonicMs(at: number): number {
    return this.#replica(at).clock.monotonicMs();
  }

  bookmark(): void {
    for (const { mirror } of this.#all) mirror.bookmark(0, 1);
  }

  watch(at: number, asked: Asked, sink: WatchSink): OpenWatch | undefined {
    const { predicate, start, latest } = asked;
    const { mirror } = this.#replica(at);
    if (!mirror.ready) return undefined;
    if (start !== "state" && mirror.refusal(start) !== undefined) return undefined;
    const from = start === "state" ? start : { after: start };
    const options = { predicate, bookmarks: true, checksums: true, latest, start: from } as const;
    return mirror.cache.watch(options, sink);
  }

  mayRefuse(at: number, revision: number): boolean {
    const { mirror } = this.#replica(at);
    return !mirror.ready || this.#inGap(at, revision) || revision < mirror.cache.state.floor;
  }

  mayEnd(at: number, start: number, position: number): boolean {
    return this.#inGap(at, start) || position < this.#replica(at).mirror.cache.state.floor;
  }

  async settle(): Promise<void> {
    for (const replica of this.#all) await replica.converge();
  }

  check(): void {
    const sums = this.#all.map(({ mirror }) => mirror.cache.viewState(everything));
    assert.deepEqual(sums[0], sums[1], "replicas hold the same");
    for (const { mirror, upstream } of this.#all) {
      assert.equal(mirror.revision, this.head);
      if (!this.#calm) continue;
      assert.ok(upstream.counts.lists <= 1 + upstream.counts.failures, "a cut costs no list");
      assert.equal(mirror.counts.reconciled, 0, "cuts do not relist");
    }
  }

  async close(): Promise<void> {
    for (const replica of this.#all) await replica.stop();
  }

  #replica(at: number): Replica {
    const replica = this.#all[at];
    assert.ok(replica !== undefined);
    return replica;
  }

  /** Whether the revision is in a gap: from the newest position held before a list (which may have been open) to just below the list. */
  #inGap(at: number, revision: number): boolean {
    const { lists } = this.#replica(at);
    return lists.some(({ above, below }) => above <= revision && revision < below);
  }
}

class Replica {
  readonly clock = new FakeClock();
  readonly fake = new FakeUpstream();
  readonly mirror: Mirror;
  readonly upstream: Upstream;
  readonly lists: { readonly above: number; readonly below: number }[] = [];
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;

  constructor(options: { readonly seed: number; readonly ringItemsMax: number }) {
    const { clock } = this;
    const memos = new MemoPool({ bytesMax: 1 << 20 });
    const own = { ...limits, ringItemsMax: options.ringItemsMax };
    this.mirror = new Mirror({ clock, memos }, podKind, own);
    const takeOver = this.mirror.takeOver.bind(this.mirror);
    this.mirror.takeOver = (takeover) => {
      this.lists.push({ above: this.mirror.revision, below: takeover.revision });
      takeOver(takeover);
    };
    const random = new FakeRandom(options.seed);
    const deps = { clock, log: silentLog, random, http: this.fake, headers: () => ({}) };
    this.upstream = new Upstream(deps, this.mirror, own);
    this.#running = this.upstream.run(this.#stopping.signal);
  }

  async fault(fault: Fault): Promise<void> {
    const { fake } = this;
    switch (fault.kind) {
      case "enqueue":
        return fake.enqueue();
      case "upstreamBookmark":
        return fake.bookmark();
      case "compact":
        return fake.compact();
      case "swap":
        return fake.swap();
      case "deliver":
        return fake.deliver(fault.count, fault.torn);
      case "repeat":
        return fake.repeat(fault.count);
      case "cut":
        fake.cut(fault.clean);
        return this.clock.advance(0);
      case "down":
        fake.down = fault.down;
        return;
      case "restart":
        // Like a restarted stock server: the streams break, and its watch cache starts at the newest revision.
        fake.compact();
        fake.cut(false);
        return this.clock.advance(0);
      case "verify":
        return this.#verify();
      default:
        fault satisfies never;
    }
  }

  async time(ms: number): Promise<void> {
    // A frame may be late, but not indefinitely: a loss after the overlap cannot be detected.
    if (ms >= limits.overlapMs) this.fake.deliver(10_000);
    await this.clock.advance(ms);
  }

  async #verify(): Promise<void> {
    if (!this.mirror.ready || this.fake.down) return;
    const listing = await this.upstream.list(this.#stopping.signal);
    // The verification takes several turns of the event loop; events and other faults happen in between.
    void this.mirror.verify(listing.objects, listing.revision);
  }

  async converge(): Promise<void> {
    this.fake.down = false;
    for (let round = 0; round < 4; round++) {
      await this.clock.advance(60_000);
      this.fake.bookmark();
      this.fake.deliver(10_000);
      await this.clock.advance(1);
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.fake.close();
    await this.clock.advance(100_000);
    await this.#running;
  }
}
