/** A store on disk in this very process, as `pilothouse store` opens it; its directory goes with it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLog } from "../../../src/core/platform/log.ts";
import { NodeClock } from "../../../src/core/platform/node/clock.ts";
import { NodeDisk } from "../../../src/core/platform/node/disk.ts";
import { NodeRandom } from "../../../src/core/platform/node/random.ts";
import type { FullStore } from "../../../src/commit/store/full-store.ts";
import { openStore } from "../../../src/commit/store/open.ts";
import { recommendedOptions } from "../../../src/commit/store/options.ts";

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
