/** The engine contract on the local engine, over the simulated and the host's disk. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { NodeDisk } from "#platform/node/disk.ts";
import { newWorld, smallOptions } from "../testing/fixture.ts";
import { engineSuite } from "../testing/engine-suite.ts";
import { LocalEngine } from "./local.ts";

engineSuite("local on a simulated disk", () => {
  const world = newWorld(1);
  return { engine: () => new LocalEngine(world, { ...smallOptions, directory: "/data" }) };
});

const parent = mkdtempSync(join(tmpdir(), "pilothouse-engine-"));
after(() => rmSync(parent, { recursive: true }));

engineSuite("local on the host's disk", () => {
  const world = { ...newWorld(1), disk: new NodeDisk() };
  const directory = mkdtempSync(join(parent, "store-"));
  return { engine: () => new LocalEngine(world, { ...smallOptions, directory }) };
});
