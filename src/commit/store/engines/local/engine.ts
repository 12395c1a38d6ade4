/**
 * The embedded engine: a segmented append-only log and checkpoints in one local directory.
 *
 *   append      one write, one sync (segment.ts)
 *   open        lock, format, newest checkpoint, log after it (recover.ts)
 *   checkpoint  written beside the log, synced, renamed into place; then the log is trimmed
 *
 * L1  One process per directory, by the host's lock.
 * L2  The two newest checkpoints and all log after the older one are kept, so one damaged checkpoint
 *     loses nothing.
 *     In quiet times two are made, one after the other, as soon as they free more than an eighth of the
 *     state: the log of a busy time is removed within two compactions of its end. The older one is then packed.
 * L3  After a failed write or sync nothing is written to the log any more: the content of the disk is then
 *     known only by reading it again, which the next open does.
 */
import { must } from "#base/assert.ts";
import { sleep } from "#platform/clock.ts";
import type { Clock } from "#platform/clock.ts";
import type { Disk, DiskFile, DiskLock } from "#platform/disk.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import { FencedError, oneAtATime } from "../engine.ts";
import type {
  AppendBatch,
  CheckpointSource,
  Engine,
  EngineStats,
  Opened,
  PossibleCheckpoint,
  ReplaySink,
  Room,
  Tail,
} from "../engine.ts";
import { refuseForeign, takeDirectory, writeFormat } from "./directory.ts";
import {
  encodeFileHeader,
  fileHeaderBytes,
  formatVersion,
  parseFileName,
  pathOf,
  temporarySuffix,
} from "./files.ts";
import { NewestSegment } from "./newest.ts";
import { recover } from "./recover.ts";
import type { Recovered } from "./recover.ts";
import { packCheckpoint } from "./packed.ts";
import { Pace } from "./pace.ts";
import { LocalRoom } from "./room.ts";
import { beginSegment, OpenSegment, SegmentAhead } from "./segment.ts";
import type { SegmentInfo, SegmentPlace } from "./segment.ts";
import { LocalTail } from "./tail.ts";
import { removeIfThere } from "./replace-file.ts";

/** A checkpoint is synced in steps of this size, so that no commit waits for more of it. */
const checkpointSyncBytes = 2 ** 20;
/** After each chunk of a checkpoint, commits get the disk for this many times as long as the chunk took. */
const checkpointRestFactor = 2;
/** Upper bound of a rest, for chunks that met a stall of the disk. */
const checkpointRestMsMax = 50;
/** A checkpoint must free at least this share of its own size, which bounds write amplification to 3. */
const checkpointWorth = 0.5;
/** At quiet times a smaller share suffices, so that the directory shrinks to two checkpoints and little log. */
const quietWorthShare = 1 / 8;
const quietWorthBytesMin = 256 * 2 ** 10;
/** Maximum age of a non-empty segment; only whole segments can be removed. */
const segmentMsMax = 60_000;
const segmentBytesMin = 128 * 2 ** 10;

export interface LocalEngineOptions {
  readonly directory: string;
  /** 16 to 64 MiB is sensible: larger segments mean fewer files, smaller ones finer trimming. */
  readonly segmentBytes: number;
  /** A checkpoint is made once it covers at least this much log, which bounds the replay at start. */
  readonly checkpointLogBytes: number;
  /** With less free disk space than this, puts are refused, so that deletes and compaction still work. */
  readonly freeBytesMin: number;
}

interface LocalEngineDeps {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
}

export class LocalEngine implements Engine {
  /** Concurrent appends do not make a disk faster. */
  readonly pace = oneAtATime;
  readonly #deps: LocalEngineDeps;
  readonly #options: LocalEngineOptions;
  #lock: DiskLock | undefined;
  #place: SegmentPlace | undefined;
  #ahead: SegmentAhead | undefined;
  #open: OpenSegment | undefined;
  #newest: NewestSegment | undefined;
  /** All segments with records, the open one last. Shared with tails. */
  #segments: SegmentInfo[] = [];
  readonly #pace = new Pace();
  #checkpoints: number[] = [];
  /** Size of the newest checkpoint, and of the one before it. */
  #checkpointBytes = 0;
  #olderCheckpointBytes = 0;
  /** Checkpoints that exist only in packed form. */
  #packed = new Set<number>();
  #headRevision = 0;
  #appending: Promise<void> | undefined;
  #appends = 0;
  /** Number of appends when the running checkpoint last looked. */
  #appendsSeen = 0;
  #epoch = 0;
  #failure: Error | undefined;
  readonly #room: LocalRoom;

  constructor(deps: LocalEngineDeps, options: LocalEngineOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#room = new LocalRoom(deps, options);
  }

  async open(replay: ReplaySink, epoch: number | "next"): Promise<Opened> {
    const { disk } = this.#deps;
    const { directory } = this.#options;
    await disk.makeDirectory(directory);
    // Checked before the lock is taken, because the lock's files must not be left in another program's directory.
    refuseForeign(directory, await disk.list(directory));
    this.#lock = await disk.lock(directory);
    try {
      const found = await takeDirectory(disk, directory, () => this.#deps.random.uuid());
      const recovered = await recover({ ...this.#deps, directory }, found, replay);
      this.#epoch = nextEpoch(recovered.epoch, epoch);
      this.#checkpoints = found.checkpoints.filter((r) => r <= recovered.checkpointRevision);
      this.#place = { ...this.#options, disk, storeId: found.storeId };
      this.#ahead = new SegmentAhead(this.#place);
      this.#newest = new NewestSegment(this.#deps, directory, found.newest);
      if (found.format < formatVersion) await writeFormat(disk, directory, found.storeId);
      await this.#openTail(recovered);
      this.#packed = new Set(found.packed);
      await this.#lookAtOlder();
      await this.#room.look();
      return { epoch: this.#epoch, domain: found.storeId };
    } catch (error) {
      await this.#lock.release();
      throw error;
    }
  }

  async append(batch: AppendBatch): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    if (batch.epoch !== this.#epoch) {
      throw new FencedError(`epoch ${batch.epoch} may not append, ${this.#epoch} holds the log`);
    }
    if (this.#lock === undefined) {
      throw new FencedError(`epoch ${batch.epoch} may not append: it has given up the log`);
    }
    try {
      this.#appending = this.#append(batch);
      await this.#appending;
    } catch (error) {
      this.#failure = error as Error;
      throw error;
    }
  }

  get room(): Room {
    return this.#room.known;
  }

  lookForRoom(): Promise<Room> {
    return this.#room.look();
  }

  wantsCheckpoint({ revision, stateBytes, quiet }: PossibleCheckpoint): boolean {
    const last = this.#checkpoints.at(-1) ?? 0;
    if (revision <= last) return false;
    const worth = Math.max(this.#options.checkpointLogBytes, stateBytes * checkpointWorth);
    if (this.#bytesBetween(last, revision) >= worth) return true;
    return quiet && this.#bytesToSpare(revision, stateBytes) >= quietWorth(stateBytes);
  }

  /**
   * Returns the number of bytes that two checkpoints at `revision` would free: the log up to there, the amount by which
   * the newest checkpoint exceeds the state, and the older checkpoint, which is then packed.
   */
  #bytesToSpare(revision: number, stateBytes: number): number {
    const older = this.#packed.has(this.#checkpoints.at(-2) ?? 0) ? 0 : this.#olderCheckpointBytes;
    const newest = Math.max(0, this.#checkpointBytes - stateBytes);
    return this.#bytesBetween(0, revision) + newest + older;
  }

  async checkpoint(source: CheckpointSource): Promise<void> {
    const { disk } = this.#deps;
    const path = pathOf(this.#options.directory, { kind: "checkpoint", number: source.revision });
    const temporary = path + temporarySuffix;
    await removeIfThere(disk, temporary);
    const file = await disk.open(temporary, "create");
    let bytes: number;
    try {
      bytes = await this.#writeCheckpoint(file, source);
    } catch (error) {
      await file.close();
      await removeIfThere(disk, temporary).catch(() => undefined);
      throw error;
    }
    await file.close();
    await disk.rename(temporary, path);
    await disk.syncDirectory(this.#options.directory);
    this.#checkpoints.push(source.revision);
    this.#olderCheckpointBytes = this.#checkpointBytes;
    this.#checkpointBytes = bytes;
    await this.#trim();
    if (source.quiet) await this.#packOlder(source.hurried);
  }

  tail(after: number): Tail {
    const { disk } = this.#deps;
    return new LocalTail(
      { disk, directory: this.#options.directory, segments: this.#segments },
      after,
    );
  }

  stats(): EngineStats {
    const logBytes = this.#segments.reduce((sum, segment) => sum + segment.end, 0);
    return {
      kind: "local",
      storedBytes: logBytes + this.#checkpointBytes + this.#olderCheckpointBytes,
      logBytes,
      checkpointRevision: this.#checkpoints.at(-1) ?? 0,
    };
  }

  async close(): Promise<void> {
    // An append in flight must not reach the disk after another process has opened the directory.
    await this.#appending?.catch(() => undefined);
    await this.#ahead?.close();
    await this.#open?.close();
    await this.#newest?.settled();
    this.#open = undefined;
    const lock = this.#lock;
    this.#lock = undefined;
    await lock?.release();
  }

  async #openTail(recovered: Recovered): Promise<void> {
    this.#segments = recovered.segments;
    this.#checkpointBytes = recovered.checkpointBytes;
    this.#headRevision = recovered.headRevision;
    const last = this.#segments.at(-1);
    if (recovered.tail !== undefined) {
      const { file, size } = recovered.tail;
      const openedMs = this.#deps.clock.monotonicMs();
      const info = must(last, "a tail is a segment");
      this.#open = new OpenSegment({ info, file, size, openedMs, header: undefined });
    } else await this.#begin((last?.number ?? 0) + 1, last?.end ?? 0, 0);
  }

  async #lookAtOlder(): Promise<void> {
    const older = this.#checkpoints.at(-2);
    if (older === undefined) return;
    const kind = this.#packed.has(older) ? "packed" : "checkpoint";
    const path = pathOf(this.#options.directory, { kind, number: older });
    const file = await this.#deps.disk.open(path, "read");
    this.#olderCheckpointBytes = await file.size();
    await file.close();
  }

  async #append(batch: AppendBatch): Promise<void> {
    let open = must(this.#open, "append to a closed engine");
    // An unused segment takes a batch of any size; its file grows for it.
    if (open.begun && (open.bytesLeft < batch.bytes || this.#isOld(open, segmentMsMax))) {
      const full = open;
      open = await this.#begin(full.info.number + 1, full.info.end, batch.bytes);
      await full.closeFull();
    }
    await this.#write(open, batch);
    this.#room.wrote(batch.bytes);
    this.#newest?.holds(open.info.number);
    this.#headRevision = batch.lastRevision;
    this.#appends++;
    const isNextNeeded = open.bytesLeft < open.size / 2 || this.#isOld(open, segmentMsMax / 2);
    if (isNextNeeded) this.#ahead?.prepare(open.info.number + 1);
  }

  #isOld({ info, openedMs }: OpenSegment, ageMs: number): boolean {
    return info.end >= segmentBytesMin && this.#deps.clock.monotonicMs() - openedMs >= ageMs;
  }

  async #write(open: OpenSegment, batch: AppendBatch): Promise<void> {
    const { clock } = this.#deps;
    const startMs = clock.monotonicMs();
    const way = this.#pace.choose(batch.records, startMs);
    await open.append(batch.buffers, batch.bytes, way);
    this.#pace.wrote(way, startMs, clock.monotonicMs());
  }

  async #begin(number: number, previousEnd: number, batchBytes: number): Promise<OpenSegment> {
    const ready = await must(this.#ahead, "not open").take(number, batchBytes);
    const { storeId } = must(this.#place, "not open");
    const fields = { storeId, revision: this.#headRevision, previousEnd, epoch: this.#epoch };
    const begun = beginSegment(ready, fields, this.#deps.clock.monotonicMs());
    if (this.#segments.at(-1)?.number !== number) this.#segments.push(begun.info);
    this.#open = begun;
    return begun;
  }

  async #writeCheckpoint(file: DiskFile, source: CheckpointSource): Promise<number> {
    const { storeId } = must(this.#place, "checkpoint of a closed engine");
    const { revision } = source;
    const fields = { storeId, number: revision, revision, previousEnd: 0, epoch: this.#epoch };
    await file.write([encodeFileHeader({ kind: "checkpoint", ...fields })], 0);
    let position = fileHeaderBytes;
    let unsynced = 0;
    const { clock } = this.#deps;
    let startMs = clock.monotonicMs();
    for (let chunk = source.next(); chunk !== undefined; chunk = source.next()) {
      await file.write([chunk], position);
      this.#room.wrote(chunk.length);
      position += chunk.length;
      unsynced += chunk.length;
      if (unsynced >= checkpointSyncBytes) {
        await file.sync();
        unsynced = 0;
      }
      await this.#restForAppends(clock.monotonicMs() - startMs, source.hurried);
      startMs = clock.monotonicMs();
    }
    await file.sync();
    return position;
  }

  /** Only at quiet times: packing takes 10 ms of a thread per MiB. */
  async #packOlder(hurried: AbortSignal): Promise<void> {
    const { disk, clock, log } = this.#deps;
    const older = this.#checkpoints.at(-2);
    if (older === undefined || this.#packed.has(older) || hurried.aborted) return;
    let startMs = clock.monotonicMs();
    const rest = async (): Promise<void> => {
      await this.#restForAppends(clock.monotonicMs() - startMs, hurried);
      if (hurried.aborted) throw new Error("the store closes");
      startMs = clock.monotonicMs();
    };
    try {
      this.#olderCheckpointBytes = await packCheckpoint(disk, this.#options.directory, older, rest);
      this.#packed.add(older);
    } catch (error) {
      // The checkpoint is unchanged, or exists in both forms; a partly packed file is removed at the next start.
      if (!hurried.aborted)
        log.warn("the older checkpoint could not be packed", { error: String(error) });
    }
  }

  /** While commits go on, a checkpoint uses at most a third of the disk's time; otherwise all of it. */
  async #restForAppends(tookMs: number, hurried: AbortSignal): Promise<void> {
    const busy = this.#appends !== this.#appendsSeen;
    this.#appendsSeen = this.#appends;
    const restMs = Math.min(tookMs * checkpointRestFactor, checkpointRestMsMax);
    if (busy && restMs > 0) await sleep(this.#deps.clock, "store.checkpoint", restMs, hurried);
  }

  /** Removes files that the two newest checkpoints do not need. */
  async #trim(): Promise<void> {
    const { disk } = this.#deps;
    const keep = this.#checkpoints.slice(-2);
    if (keep.length < 2) return;
    const oldest = keep[0] as number;
    // Log first, oldest first: after an interruption the rest is still contiguous. A segment
    // that begins at the checkpoint's revision may begin after leases that were granted after the checkpoint.
    while (this.#segments.length > 1 && (this.#segments[1] as SegmentInfo).revision < oldest) {
      const { number } = this.#segments[0] as SegmentInfo;
      await disk.remove(pathOf(this.#options.directory, { kind: "log", number }));
      this.#segments.shift();
    }
    // Lists the directory, so that an outdated checkpoint that was skipped as damaged is removed too.
    for (const name of await disk.list(this.#options.directory)) {
      const { kind, number } = parseFileName(name) ?? noFile;
      if (kind === undefined || kind === "log" || number >= oldest) continue;
      await disk.remove(`${this.#options.directory}/${name}`);
    }
    this.#checkpoints = keep;
    this.#packed = new Set(keep.filter((number) => this.#packed.has(number)));
    await disk.syncDirectory(this.#options.directory);
  }

  /** Bytes of the segments that lie wholly in (after, upTo]. */
  #bytesBetween(after: number, upTo: number): number {
    let sum = 0;
    for (let i = 0; i + 1 < this.#segments.length; i++) {
      const { revision: last } = this.#segments[i + 1] as SegmentInfo;
      if (last > after && last <= upTo) sum += (this.#segments[i] as SegmentInfo).end;
    }
    return sum;
  }
}

function quietWorth(stateBytes: number): number {
  return Math.max(quietWorthBytesMin, stateBytes * quietWorthShare);
}

const noFile = { kind: undefined, number: 0 } as const;

function nextEpoch(seen: number, wanted: number | "next"): number {
  if (wanted === "next") return seen + 1;
  if (wanted > seen) return wanted;
  throw new FencedError(`epoch ${wanted} may not open the log: it has seen epoch ${seen}`);
}
