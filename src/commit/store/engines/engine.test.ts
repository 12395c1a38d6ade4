/** The engine contract on memory, and on the local engine over the simulated and the host's disk. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { NodeDisk } from "#platform/node/disk.ts";
import { newWorld, smallOptions } from "../testing/fixture.ts";
import { engineSuite } from "../testing/engine-suite.ts";
import { LocalEngine } from "./local/engine.ts";
import { MemoryEngine, MemoryLog } from "./memory.ts";

/** Names logs, and seeds worlds: no two stores get one id. */
let logs = 0;
engineSuite("memory", () => {
  const log = new MemoryLog(`log ${++logs}`, "all");
  return { engine: () => new MemoryEngine(log), secondOpen: "takes over" };
});

engineSuite("local on a simulated disk", () => {
  const world = newWorld(++logs);
  const engine = (): LocalEngine => new LocalEngine(world, { ...smallOptions, directory: "/data" });
  return { engine, secondOpen: "is refused" };
});

const parent = mkdtempSync(join(tmpdir(), "pilothouse-engine-"));
after(() => rmSync(parent, { recursive: true }));

engineSuite("local on the host's disk", () => {
  const world = { ...newWorld(++logs), disk: new NodeDisk() };
  const directory = mkdtempSync(join(parent, "store-"));
  const engine = (): LocalEngine => new LocalEngine(world, { ...smallOptions, directory });
  return { engine, secondOpen: "is refused" };
});
