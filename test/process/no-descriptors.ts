/** Takes every descriptor that its process may have, then uses a disk as the store does. See open-files.test.ts. */
import { strict as assert } from "node:assert";
import { openSync } from "node:fs";
import { join } from "node:path";
import { NodeDisk } from "#platform/node/disk.ts";

const [directory = ""] = process.argv.slice(2);
const disk = new NodeDisk();
// As at a store's start.
await (await disk.open(join(directory, "first"), "create")).close();
takeAll();
const file = await disk.open(join(directory, "segment"), "create");
takeAll();
await file.writeDurably([Buffer.from("kept")], 0);
takeAll();
await disk.syncDirectory(directory);
takeAll();
assert.ok((await disk.list(directory)).includes("segment"));
assert.equal(Buffer.from(await file.read(0, 4)).toString(), "kept");
process.stdout.write("opened, written, synced, listed\n");

function takeAll(): void {
  try {
    for (;;) openSync("/dev/null", "r");
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, "EMFILE");
  }
}
