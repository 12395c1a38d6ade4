/**
 * Every role of one process, and the embedded plane, ended after each of its parts in turn: once by a failure, once by
 * a stop. Nothing stays open, no timer armed, no file in the temporary folder, and the same start works afterwards.
 *
 * The places where a start can end are not listed here: they are the parts that a whole start opens.
 * Not here: replicas (they need an etcd) and serving workers of a relay (they are processes), and serving threads of an API server
 * (each start compiles the sources in each thread); their tests end them whole.
 */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeDisk } from "#platform/node/disk.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { OwnedTimers } from "#platform/owned-timers.ts";
import { type ControlPlane, openControlPlane, startControlPlane } from "./embed.ts";
import { Parts, StartStopped } from "./shared/parts.ts";
import type { RelayFlags } from "./relay/flags.ts";
import { openAlone } from "./relay/run.ts";
import type { ApiServerRoleFlags } from "./apiserver/flags.ts";
import { openApiServer } from "./apiserver/run.ts";
import type { SchedulerFlags } from "./scheduler/flags.ts";
import type { HollowFlags } from "./hollow/flags.ts";
import { openHollow } from "./hollow/run.ts";
import { openScheduler } from "./scheduler/run.ts";
import { openStoreRole, type StoreFlags } from "./store/run.ts";
import { embeddedSupervisor } from "./shared/supervise.ts";
import { flagsOf } from "./testing/role-flags.ts";
import type { UpFlags } from "./up/flags.ts";
import { openUp } from "./up/run.ts";
import { MetricSet } from "#metrics/metric-set.ts";

const folder = mkdtempSync(join(tmpdir(), "pilothouse-lifetimes-"));
const formerTmp = process.env["TMPDIR"];
const kubeconfig = join(folder, "kubeconfig");
let plane: ControlPlane;

before(async () => {
  plane = await startControlPlane({ nodes: 0 });
  writeFileSync(kubeconfig, plane.kubeconfig);
});

after(async () => {
  await plane.stop();
  rmSync(folder, { recursive: true });
});

const clock = new OwnedTimers(new NodeClock());
const plain = { clock, random: new NodeRandom(), disk: new NodeDisk(), log: silentLog };
const supervisor = embeddedSupervisor(plain);
const host = { ...plain, clock: supervisor.clock, supervisor };
const quiet = ["--log-level", "silent"];
const api = (): readonly string[] => ["--kubeconfig", kubeconfig, ...quiet];

type Open = (parts: Parts, stopping: AbortSignal, dataDir: string) => Promise<unknown>;

const roles: Readonly<Record<string, Open>> = {
  "a plane in memory": (parts) => openControlPlane({ nodes: 1, logLevel: "silent" }, parts),
  "a plane with a data directory": (parts, _, dataDir) =>
    openControlPlane({ dataDir, nodes: 0, logLevel: "silent" }, parts),
  up: (parts, stopping, dataDir) => {
    const audit = ["--audit-log", join(dataDir, "..", "audit.log")];
    const relay = ["--relay", "127.0.0.1:0", "--xds-listen", "127.0.0.1:0"];
    const given = ["--data-dir", dataDir, "--port", "0", "--nodes", "1", ...audit, ...relay];
    return openUp(host, flagsOf<UpFlags>("up", ...given, ...quiet), parts, stopping);
  },
  apiserver: (parts, _, dataDir) => {
    const given = ["--data-dir", dataDir, "--secure-port", "0", ...quiet];
    return openApiServer(host, flagsOf<ApiServerRoleFlags>("apiserver", ...given), parts);
  },
  store: (parts, _, dataDir) => {
    const given = ["--data-dir", dataDir, "--listen", "127.0.0.1:0", "--compact-every", "9"];
    return openStoreRole(host, flagsOf<StoreFlags>("store", ...given, ...quiet), parts);
  },
  relay: (parts, stopping) => {
    const given = ["--upstream", kubeconfig, "--listen", "127.0.0.1:0", "--drain-seconds", "0"];
    const own = { ...host, metrics: new MetricSet() };
    return openAlone(own, flagsOf<RelayFlags>("relay", ...given, ...quiet), parts, stopping);
  },
  scheduler: (parts, stopping) => {
    const flags = flagsOf<SchedulerFlags>("scheduler", "--secure-port", "0", ...api());
    return openScheduler(host, flags, parts, stopping);
  },
  hollow: (parts, stopping) =>
    openHollow(host, flagsOf<HollowFlags>("hollow", "--nodes", "2", ...api()), parts, stopping),
};

for (const [name, open] of Object.entries(roles)) {
  test(`${name}: a failure after any part leaves nothing open, and the same start works then`, async () => {
    const world = new World(open);
    const names = await world.wholeStart();
    assert.ok(names.length > 1, "a role of one part has no places to end at");
    for (const at of names.keys()) await world.failAfter(at, names);
    assert.deepEqual(await world.wholeStart(), names);
    world.remove();
  });

  test(`${name}: a stop after any part ends in order and leaves nothing open`, async () => {
    const world = new World(open);
    const names = await world.wholeStart();
    for (const at of names.keys()) await world.stopAfter(at, names);
    world.remove();
  });
}

/** One role over one data directory, with a temporary folder of its own. */
class World {
  readonly #open: Open;
  readonly #folder = mkdtempSync(join(folder, "world-"));
  readonly #temporary = mkdtempSync(join(folder, "temporary-"));

  constructor(open: Open) {
    this.#open = open;
    process.env["TMPDIR"] = this.#temporary;
  }

  /** Starts, and ends. @returns the names of its parts. */
  async wholeStart(): Promise<readonly string[]> {
    const names: string[] = [];
    await this.#run(
      new Parts({ onOpened: (part) => void names.push(part) }),
      new AbortController(),
    );
    return names;
  }

  async failAfter(at: number, names: readonly string[]): Promise<void> {
    let count = 0;
    const onOpened = (): void => {
      if (count++ === at) throw new Error("planted");
    };
    const ended = this.#run(new Parts({ onOpened }), new AbortController());
    await assert.rejects(ended, /planted/, `the start did not end after ${names[at]}`);
  }

  /** A start that is stopped after its last part, or before it waits for something, has nothing more to open. */
  async stopAfter(at: number, names: readonly string[]): Promise<void> {
    let count = 0;
    const stopping = new AbortController();
    const onOpened = (): void => {
      if (count++ === at) stopping.abort();
    };
    const parts = new Parts({ stopping: stopping.signal, onOpened });
    try {
      await this.#run(parts, stopping);
    } catch (error) {
      assert.ok(error instanceof StartStopped, `after ${names[at]}: ${String(error)}`);
    }
    assert.equal(count, at + 1, `something was opened after the stop at ${names[at]}`);
  }

  remove(): void {
    if (formerTmp === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = formerTmp;
    rmSync(this.#folder, { recursive: true });
  }

  async #run(parts: Parts, stopping: AbortController): Promise<void> {
    const [open, timers] = [openHandles(), clock.armed.length];
    try {
      await this.#open(parts, stopping.signal, join(this.#folder, "data"));
    } finally {
      await parts[Symbol.asyncDispose]();
      await until(() => openHandles() <= open, `handles stay open: ${describeHandles()}`);
      await until(
        () => clock.armed.length <= timers,
        `timers stay armed: ${clock.armed.join(" ")}`,
      );
      assert.deepEqual(readdirSync(this.#temporary), []);
    }
  }
}

/** Sockets, listeners, threads, timers that keep the process alive. Requests to the file system end by themselves. */
function handles(): readonly string[] {
  return process.getActiveResourcesInfo().filter((name) => !/^FS|Immediate|^Close/.test(name));
}

const openHandles = (): number => handles().length;
const describeHandles = (): string => handles().join(" ");

/** A closed socket is gone some turns after it was closed. */
async function until(isSo: () => boolean, what: string): Promise<void> {
  for (let turns = 0; turns < turnsMax; turns++) {
    if (isSo()) return;
    await turn();
  }
  assert.fail(what);
}

const turnsMax = 200_000;
