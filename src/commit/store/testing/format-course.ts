/**
 * Directories of each format: those kept in testdata, and the sequence of calls that produced the newest.
 * The sequence writes every kind of record, in two lives with a checkpoint between, and the
 * same bytes each time: time, disk and randomness are simulated.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { FullStore } from "../full-store.ts";
import { openStore } from "../open.ts";
import type { LeaseId, Revision } from "../store.ts";
import { bytes, key, newWorld, smallOptions, testDirectory } from "./fixture.ts";
import type { World } from "./fixture.ts";

export type Files = ReadonlyMap<string, Uint8Array>;

const testdata = join(import.meta.dirname, "../testdata");
const courseOptions = { ...smallOptions, segmentBytes: 8192, checkpointLogBytes: 1 };

export function formatDirectory(format: number): string {
  return join(testdata, `format-${format}`);
}

export function filesOfFormat(format: number): Files {
  const directory = formatDirectory(format);
  const names = readdirSync(directory).toSorted();
  return new Map(names.map((name) => [name, readFileSync(join(directory, name))]));
}

/** A world whose disk durably holds these files in `testDirectory`. */
export async function worldWith(files: Files, seed: number = 1): Promise<World> {
  const world = newWorld(seed);
  await world.disk.makeDirectory(testDirectory);
  for (const [name, content] of files) {
    const file = await world.disk.open(`${testDirectory}/${name}`, "create");
    await file.write([content], 0);
    await file.sync();
    await file.close();
  }
  await world.disk.syncDirectory(testDirectory);
  return world;
}

/** All files that exist now. */
export async function filesOf(world: World): Promise<Files> {
  const names = await world.disk.list(testDirectory);
  return new Map(names.map((name) => [name, world.disk.peek(`${testDirectory}/${name}`)]));
}

export function openCourse(world: World, more: Partial<typeof smallOptions> = {}) {
  const options = { ...courseOptions, ...more };
  return openStore(world, { ...options, engine: "local", directory: testDirectory });
}

export async function runCourse(): Promise<Files> {
  const world = newWorld(7);
  let store = await openCourse(world);
  await firstLife(store);
  // The checkpoint that the compaction asked for.
  await world.clock.advance(60_000);
  await store.close();
  store = await openCourse(world);
  await store.put(key("last"), bytes("end"), {});
  await store.close();
  return filesOf(world);
}

const lease = (id: bigint): LeaseId => id as LeaseId;

async function firstLife(store: FullStore): Promise<void> {
  for (const id of [77n, -78n, 79n]) await store.grantLeaseAs(lease(id), 6000);
  for (let i = 0; i < 80; i++) {
    await store.put(key(`k${i % 8}`), bytes(`value ${i} `.padEnd(100, "x")), {});
  }
  await store.put(key("leased"), bytes("l"), { lease: lease(77n) });
  await store.put(key("brief"), bytes("b"), { lease: lease(79n) });
  await store.delete(key("k1"), {});
  await store.transact((transaction) => {
    transaction.delete(key("k3"));
    transaction.put(key("both"), bytes("1"), lease(0n));
    transaction.put(key("k0"), bytes("2"), lease(77n));
  });
  await store.compact(store.commitRevision as Revision);
  await store.revokeLease(lease(-78n));
  await store.revokeLease(lease(79n));
  await store.put(key("\u0000\u00ff"), bytes(""), {});
}
