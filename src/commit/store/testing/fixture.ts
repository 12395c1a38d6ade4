/** Shared by the store's tests: small limits, a world with a virtual clock and disk, sinks. */
import { silentLog } from "#platform/log.ts";
import type { Log } from "#platform/log.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeDisk } from "#platform/testing/disk.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import type { OpenedStore } from "../full-store.ts";
import type { LocalEngineOptions } from "../engines/local/engine.ts";
import { openStore } from "../open.ts";
import type { StoreOptions } from "../options.ts";
import type { Commit, CommitSink, Key, KeyValue, Revision, StoreEvent } from "../store.ts";

/** Small enough that a short test crosses every limit. */
export const smallOptions: StoreOptions & Omit<LocalEngineOptions, "directory"> = {
  valueBytesMax: 4096,
  quotaBytes: 2 ** 20,
  batchBytesMax: 8192,
  batchItemsMax: 16,
  slabBytes: 4096,
  watchBatchCommitsMax: 8,
  leasesMax: 100,
  segmentBytes: 16384,
  checkpointLogBytes: 16384,
  freeBytesMin: 8192,
};

export const testDirectory = "/data";

/** Clock, disk and randomness of one run, in which stores are opened and closed. */
export interface World {
  readonly clock: FakeClock;
  disk: FakeDisk;
  readonly random: FakeRandom;
  readonly log: Log;
}

export function newWorld(seed: number, log: Log = silentLog): World {
  return { clock: new FakeClock(), disk: new FakeDisk(seed), random: new FakeRandom(seed), log };
}

export type EngineName = "memory" | "local";

export function openTestStore(
  world: World,
  engine: EngineName,
  options: Partial<typeof smallOptions> = {},
): Promise<OpenedStore> {
  const choice = engine === "memory" ? { engine } : { engine, directory: testDirectory };
  return openStore(world, { ...smallOptions, ...options, ...choice });
}

export const key = (name: string): Key => name as Key;
export const rev = (revision: number): Revision => revision as Revision;
export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
export const text = (value: Uint8Array): string => new TextDecoder().decode(value);

/** A sink that keeps what it receives and refuses more than a given amount until `drain`. */
export class TestSink implements CommitSink {
  readonly commits: Commit[] = [];
  compactedAt: number | undefined;
  room: number;

  constructor(room: number = 1_000_000) {
    this.room = room;
  }

  deliver(commits: readonly Commit[]): boolean {
    if (commits.length > this.room) return false;
    this.room -= commits.length;
    this.commits.push(...commits);
    return true;
  }

  compacted(compactRevision: Revision): void {
    this.compactedAt = compactRevision;
  }

  /** One line per event: `revision key=value` or `revision -key`. */
  lines(): string[] {
    return this.commits.flatMap(({ revision, events }) =>
      events.map((event) => `${revision} ${describe(event)}`),
    );
  }
}

export function describe(event: StoreEvent): string {
  return event.kind === "put" ? `${event.key}=${text(event.kv.value)}` : `-${event.key}`;
}

/** All of a KeyValue as plain data, for comparing. */
export function plain(kv: KeyValue): Record<string, unknown> {
  return { ...kv, value: text(kv.value) };
}

/** A Log that keeps its lines. */
export function keepingLog(lines: string[]): Log {
  const add =
    (level: string) =>
    (message: string, fields?: object): void =>
      void lines.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`);
  const log: Log = {
    debug: add("debug"),
    info: add("info"),
    warn: add("warn"),
    error: add("error"),
    child: () => log,
  };
  return log;
}
