/**
 * The engine over an existing etcd cluster: a batch is one transaction, put only if the epoch is still this
 * opening's and the slot is free. README.md has the keys, the invariants and the missing features.
 *
 *   open        takes the epoch (takeover.ts), then reads checkpoint and slots (reader.ts)
 *   append      puts the parts of the batch into the next slots (appends.ts, writer.ts); repeats uncertain calls
 *               (calls.ts)
 *   checkpoint  chunks, one transaction that switches, then trimming (checkpoint.ts); chunks may lie elsewhere
 *               (chunk-store.ts)
 */
import { assert, must } from "#base/assert.ts";
import type { Clock, Timer } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import { CorruptionError, FellBehindError, FencedError } from "../engine.ts";
import type {
  AppendBatch,
  AppendPace,
  CheckpointSource,
  EngineStats,
  LogHolder,
  Opened,
  PossibleCheckpoint,
  ReplaySink,
  Room,
  SharedEngine,
  Tail,
} from "../engine.ts";
import { Appends } from "./appends.ts";
import { Calls } from "./calls.ts";
import { putChunks, switchPointer, trim } from "./checkpoint.ts";
import { type ChunkStore, putOutside, readOutside } from "./chunk-store.ts";
import type { LogCluster } from "./cluster.ts";
import { checkpointId, decodePointer, LogLayout, noPointer, type Pointer } from "./layout.ts";
import { readCheckpoint, SlotReader } from "./reader.ts";
import { Segments } from "./segments.ts";
import { StripeWatch } from "./stripe-watch.ts";
import { Stripes } from "./stripes.ts";
import { EtcdTail } from "./tail.ts";
import { takeOver } from "./takeover.ts";
import { Writer } from "./writer.ts";

/** A checkpoint must free at least this share of its own size, which bounds write amplification to 3. */
const checkpointWorth = 0.5;

export interface EtcdEngineOptions {
  /** Prefix of all keys: printable ASCII that ends with a slash. */
  readonly prefix: string;
  /** Initial assumption of the cluster's request size limit; lowered when the cluster refuses a request. */
  readonly partBytes: number;
  /** Name of this opening for followers: printable ASCII without spaces; may be empty. */
  readonly name: string;
  /** The log is trimmed in steps of this size. */
  readonly segmentBytes: number;
  /** A checkpoint is made once it frees at least this much log. */
  readonly checkpointLogBytes: number;
  /** Time without a certain answer after which the owner of the log gives up. */
  readonly giveUpMs: number;
  readonly pace: AppendPace;
  /** Interval at which an owner checks that it still holds the log; 0: only when it appends. */
  readonly lookMs: number;
}

interface EtcdEngineDeps {
  /** The log's first cluster. */
  readonly cluster: LogCluster;
  /** The other clusters of a striped log; absent: the log has one cluster. */
  readonly stripes?: readonly LogCluster[] | undefined;
  /** Storage for new checkpoints; absent: they are put into the cluster. */
  readonly chunks?: ChunkStore | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
}

export class EtcdEngine implements SharedEngine {
  readonly room = { kind: "ok" } as const;
  readonly deposed: Promise<FencedError>;
  readonly #depose: (error: FencedError) => void;
  readonly #deps: EtcdEngineDeps;
  readonly #options: EtcdEngineOptions;
  readonly #calls: Calls;
  readonly #layout: LogLayout;
  readonly #stripes: Stripes;
  readonly #stripeWatch: StripeWatch;
  readonly pace: AppendPace;
  #writer: Writer | undefined;
  #appends: Appends | undefined;
  readonly #segments: Segments;
  /** Position of the follower; undefined: nothing was replayed yet. */
  #slots: SlotReader | undefined;
  /** The stored pointer; undefined: there is none yet. */
  #pointer: Pointer | undefined;
  #attempts = 0;
  #domain = "";
  #failure: Error | undefined;
  #look: Timer | undefined;
  #watch: { close(): void } | undefined;

  constructor(deps: EtcdEngineDeps, options: EtcdEngineOptions) {
    const { prefix, name } = options;
    assert(/^[!-~]*\/$/.test(prefix), "a prefix is ASCII and ends with a slash", { prefix });
    assert(/^[!-~]*$/.test(name), "a name is ASCII without spaces", { name });
    this.#deps = deps;
    this.#options = options;
    this.pace = options.pace;
    this.#calls = new Calls(deps, options);
    this.#layout = new LogLayout(prefix);
    const { clock, stripes = [] } = deps;
    this.#stripeWatch = new StripeWatch(clock);
    const others = stripes.map((cluster) => new Calls({ cluster, clock }, options));
    this.#stripes = new Stripes([this.#calls, ...others], this.#layout);
    this.#segments = new Segments(options);
    const deposed = Promise.withResolvers<FencedError>();
    this.deposed = deposed.promise;
    this.#depose = deposed.resolve;
  }

  async open(replay: ReplaySink, wanted: number | "next"): Promise<Opened> {
    assert(this.#writer === undefined, "engine opened twice");
    const { random } = this.#deps;
    const { name } = this.#options;
    await this.#stripes.check();
    const deps = { calls: this.#calls, layout: this.#layout, random, name };
    const { domain, epoch, held } = await takeOver(deps, wanted);
    const writer = new Writer({ calls: this.#calls, epoch, held }, this.#options);
    let nextSlot: number;
    try {
      await this.#stripes.fence(epoch, held);
      nextSlot = await this.#recover(replay, writer, domain);
    } catch (error) {
      // Another opening may have trimmed the slots that this one was reading.
      if (error instanceof CorruptionError || error instanceof FellBehindError) {
        await writer.checkHeld();
      }
      throw error;
    }
    this.#writer = writer;
    this.#domain = domain;
    this.#appends = new Appends({ writer, ...this.#slotDeps }, nextSlot);
    this.#lookLater();
    return { epoch, domain };
  }

  async follow(replay: ReplaySink, what: "all" | "pushed"): Promise<void> {
    assert(this.#writer === undefined, "the log's holder follows it");
    this.#slots ??= await this.#begin(replay);
    await this.#replaySlots(replay, this.#slots, what);
  }

  listen(grown: () => void): void {
    this.#watch ??= this.#stripes.watch({
      pushed: (keys) => {
        this.#slots?.push(keys);
        grown();
      },
      broke: () => this.#slots?.doubt(),
    });
  }

  get holder(): LogHolder {
    return this.#slots?.holder ?? { epoch: 0, name: "" };
  }

  checkHeld(): Promise<void> {
    return must(this.#writer, "a closed engine holds nothing").checkHeld();
  }

  async append(batch: AppendBatch): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    const { epoch } = batch;
    if (epoch !== this.#writer?.epoch) {
      throw new FencedError(`epoch ${epoch} may not append: this opening does not hold the log`);
    }
    try {
      await must(this.#appends, "an open engine appends").append(batch);
    } catch (error) {
      this.#fail(error as Error);
      throw error;
    }
  }

  lookForRoom(): Promise<Room> {
    return Promise.resolve(this.room);
  }

  wantsCheckpoint({ revision, stateBytes }: PossibleCheckpoint): boolean {
    if (revision <= (this.#pointer?.revision ?? 0)) return false;
    const worth = Math.max(this.#options.checkpointLogBytes, stateBytes * checkpointWorth);
    return this.#segments.bytesBefore(revision) >= worth;
  }

  async checkpoint(source: CheckpointSource): Promise<void> {
    const writer = must(this.#writer, "checkpoint of a closed engine");
    const deps = { calls: this.#calls, layout: this.#layout, writer, stripes: this.#stripes };
    const { revision } = source;
    const { first, trimmedRevision, revision: last } = this.#pointer ?? noPointer;
    assert(revision > last, "a checkpoint that is not newer than the last", { revision, last });
    const id = checkpointId(writer.epoch, ++this.#attempts);
    const put = await this.#putCheckpoint(deps, id, source);
    const start = this.#segments.startAfter(revision) ?? { first, trimmedRevision };
    const pointer = { revision, id, ...put, ...start };
    await switchPointer(deps, this.#pointer, pointer);
    this.#pointer = pointer;
    this.#segments.trim(start.first);
    try {
      await trim(deps, pointer);
      await this.#deps.chunks?.removeBefore(this.#domain, id);
    } catch (error) {
      // The checkpoint is valid anyway; the remaining slots are removed with the next one.
      this.#deps.log.warn("the log was not trimmed", { revision, error: String(error) });
    }
  }

  async #putCheckpoint(
    deps: Parameters<typeof putChunks>[0],
    id: string,
    source: CheckpointSource,
  ): Promise<Pick<Pointer, "chunks" | "bytes" | "place">> {
    const { chunks: store } = this.#deps;
    if (store === undefined) return putChunks(deps, id, source);
    const place = this.#domain;
    return { ...(await putOutside(store, { place, id }, source)), place };
  }

  tail(after: number): Tail {
    const hint = this.#segments.slotBefore(after) ?? 1;
    return new EtcdTail({ stripes: this.#stripes, layout: this.#layout }, { after, hint });
  }

  stats(): EngineStats {
    const { bytes, revision } = this.#pointer ?? noPointer;
    const logBytes = this.#segments.bytes;
    return {
      kind: "etcd",
      storedBytes: logBytes + bytes,
      logBytes,
      checkpointRevision: revision,
      ...(!this.#stripes.isPlain && { stripes: this.#stripeWatch.stats(this.#stripes.all) }),
    };
  }

  async close(): Promise<void> {
    this.#look?.cancel();
    this.#watch?.close();
    await this.#appends?.ended();
    this.#writer = undefined;
  }

  get #slotDeps(): Omit<ConstructorParameters<typeof Appends>[0], "writer"> {
    const [layout, segments] = [this.#layout, this.#segments];
    return { layout, segments, stripes: this.#stripes, watch: this.#stripeWatch };
  }

  /** Replays what was not followed yet. @returns the first free slot. */
  async #recover(replay: ReplaySink, writer: Writer, domain: string): Promise<number> {
    this.#slots?.doubt();
    this.#slots ??= await this.#begin(replay);
    await this.#replaySlots(replay, this.#slots);
    const { first } = await this.#readPointer();
    this.#segments.trim(first);
    const { next } = this.#slots;
    await this.#stripes.bury(next, writer);
    await this.#stripes.adopt(next, first, domain, writer);
    // Cleared only after everything else succeeded: an opening that fails to take over continues as a follower.
    this.#slots = undefined;
    this.#watch?.close();
    return next;
  }

  async #readPointer(): Promise<Pointer> {
    const key = this.#layout.pointer;
    const found = await this.#calls.get(key);
    const pointer = decodePointer(found, key);
    this.#pointer = found === undefined ? undefined : pointer;
    return pointer;
  }

  /** Replays the checkpoint. @returns the slots that follow it. */
  async #begin(replay: ReplaySink): Promise<SlotReader> {
    const deps = { stripes: this.#stripes, layout: this.#layout };
    await this.#stripes.check();
    const pointer = await this.#readPointer();
    if (pointer.revision > 0) await this.#replayCheckpoint(replay, pointer);
    return new SlotReader(deps, pointer.first);
  }

  async #replayCheckpoint(replay: ReplaySink, pointer: Pointer): Promise<void> {
    const deps = { calls: this.#calls, layout: this.#layout };
    replay.checkpoint(pointer.revision);
    const take = (bytes: Uint8Array, file: string): void =>
      replay.records(bytes, { kind: "checkpoint", file, offset: 0 });
    try {
      await (pointer.place === undefined
        ? readCheckpoint(deps, pointer, take)
        : readOutside(this.#deps.chunks, pointer, take));
    } catch (error) {
      // The holder of the log may have made a newer checkpoint in the meantime.
      const { id } = await this.#readPointer();
      throw id === pointer.id ? error : new FellBehindError();
    }
  }

  async #replaySlots(
    replay: ReplaySink,
    slots: SlotReader,
    what: "all" | "pushed" = "all",
  ): Promise<void> {
    for (;;) {
      const batch = await slots.read(what);
      if (batch === "end") return;
      if (batch === "trimmed" || batch === "another") throw new FellBehindError();
      const { firstKey: file, bytes, lastRevision } = batch;
      this.#segments.add(this.#layout.slotNumber(file), bytes.length, lastRevision);
      replay.records(bytes, { kind: "log", file, offset: 0 });
    }
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    if (error instanceof FencedError) this.#depose(error);
  }

  /** Lets a writer that was deposed while idle find that out. */
  #lookLater(): void {
    const { lookMs } = this.#options;
    if (lookMs === 0) return;
    this.#look = this.#deps.clock.after("store.log", lookMs, () => {
      const writer = this.#writer;
      if (writer === undefined || this.#failure !== undefined) return;
      writer
        .checkHeld()
        .catch((error: unknown) => {
          // An unreachable cluster is reported by the next append.
          if (error instanceof FencedError) this.#fail(error);
        })
        .finally(() => this.#lookLater());
    });
  }
}
