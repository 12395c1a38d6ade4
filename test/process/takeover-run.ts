/** Takeovers in turn: ours, a stock kube-controller-manager, ours again, while rollouts are under way. */
import { removeDirectory, temporaryDirectory } from "./harness.ts";
import { createLoad, readWorld, rollHalf, unsettled, type World } from "./takeover-load.ts";
import { type ManagerRun, startTakeoverPlane, type TakeoverPlane } from "./takeover-plane.ts";
import type { Takeover } from "./takeover-report.ts";

interface TakeoverOptions {
  /** A stock kube-controller-manager. */
  readonly program: string;
  /** Deployments, StatefulSets, DaemonSets, Jobs and CronJobs: so many of each. */
  readonly each: number;
  readonly nodes: number;
  /** How long the world is left alone, and must stand still. */
  readonly stillMs: number;
  readonly settleMsMax: number;
  readonly note: (text: string) => void;
}

type Name = "ours" | "stock";

export async function runTakeovers(options: TakeoverOptions): Promise<readonly Takeover[]> {
  const directory = temporaryDirectory("takeover");
  const plane = await startTakeoverPlane(directory, options.nodes);
  try {
    return await takeTurns(plane, options);
  } catch (error) {
    options.note(tailOf(plane));
    throw error;
  } finally {
    await plane.stop();
    removeDirectory(directory);
  }
}

function tailOf(plane: TakeoverPlane): string {
  try {
    return plane.stockLog().split("\n").slice(-20).join("\n");
  } catch {
    return ""; // it was never started
  }
}

async function takeTurns(
  plane: TakeoverPlane,
  options: TakeoverOptions,
): Promise<readonly Takeover[]> {
  const start = (name: Name): ManagerRun =>
    name === "ours" ? plane.startOurs() : plane.startStock(options.program);
  let manager = start("ours");
  const takeovers: Takeover[] = [];
  try {
    await untilDefaults(plane, options);
    await createLoad(plane.client, options.each);
    await settled(plane, options);
    options.note("all have settled under ours");
    const turns = [
      ["ours", "stock"],
      ["stock", "ours"],
    ] as const;
    for (const [at, [from, to]] of turns.entries()) {
      await rollHalf(plane.client, options.each, `nginx:${at + 2}`);
      await manager.stop();
      const before = await readWorld(plane.client);
      const startedMs = performance.now();
      manager = start(to);
      await settled(plane, options);
      const settleMs = performance.now() - startedMs;
      options.note(`all have settled under ${to}`);
      const still = await standStill(plane, options);
      takeovers.push({ from, to, before, settleMs, ...still });
    }
  } finally {
    await manager.stop();
  }
  return takeovers;
}

/** Pods need their service account. */
async function untilDefaults(plane: TakeoverPlane, options: TakeoverOptions): Promise<void> {
  await until(options, "the default service account", async () => {
    const ref = { group: "", version: "v1", resource: "serviceaccounts" };
    const { items } = await plane.client.list(ref, { namespace: "default" });
    return items.length > 0 ? [] : ["default"];
  });
}

async function settled(plane: TakeoverPlane, options: TakeoverOptions): Promise<World> {
  let world = await readWorld(plane.client);
  await until(options, "workloads", async () => {
    world = await readWorld(plane.client);
    return unsettled(world, options.nodes);
  });
  return world;
}

/** Writes that follow a settled world (status, trimmed history) have ended after a short while. */
const afterMs = 10_000;

async function standStill(
  plane: TakeoverPlane,
  { stillMs }: TakeoverOptions,
): Promise<{ readonly after: World; readonly still: World }> {
  await pause(afterMs);
  const after = await readWorld(plane.client);
  await pause(stillMs);
  return { after, still: await readWorld(plane.client) };
}

async function until(
  { settleMsMax }: TakeoverOptions,
  what: string,
  missing: () => Promise<readonly string[]>,
): Promise<void> {
  const deadline = performance.now() + settleMsMax;
  for (;;) {
    const left = await missing();
    if (left.length === 0) return;
    if (performance.now() > deadline) {
      throw new Error(`not settled: ${what}: ${left.slice(0, 20).join(", ")}`);
    }
    await pause(500);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
