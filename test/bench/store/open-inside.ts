/** A store on disk in this very process, as `pilothouse store` opens it; its directory goes with it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLog } from "../../../src/platform/log.ts";
import { NodeClock } from "../../../src/platform/node/clock.ts";
import { NodeDisk } from "../../../src/platform/node/disk.ts";
import { NodeRandom } from "../../../src/platform/node/random.ts";
import type { FullStore } from "../../../src/store/full-store.ts";
import { openStore } from "../../../src/store/open.ts";
import { recommendedOptions } from "../../../src/store/options.ts";

export const insideDeps = {
  clock: new NodeClock(),
  random: new NodeRandom(),
  disk: new NodeDisk(),
  log: silentLog,
};

export async function onOpenStore(
  name: string,
  use: (store: FullStore, directory: string) => Promise<void>,
): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), `bench-${name}-`));
  try {
    const store = await openStore(insideDeps, {
      ...recommendedOptions,
      engine: "local",
      directory,
    });
    await use(store, directory);
    await store.close();
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
