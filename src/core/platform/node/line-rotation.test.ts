/** Rotated files: names, how many stay, how long, and that they are packed. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { NodeClock } from "./clock.ts";
import { openLineFile } from "./line-file.ts";
import { rotate } from "./line-rotation.ts";

const directory = mkdtempSync(join(tmpdir(), "pilothouse-rotation-"));
after(() => rmSync(directory, { recursive: true, force: true }));

const rotation = { bytesMax: 100, backupsMax: 0, ageMsMax: 0, isPacked: false };

test("a file that would grow beyond its size is renamed, and no line is lost or in two files", async () => {
  const folder = mkdtempSync(join(directory, "size-"));
  const path = join(folder, "audit.log");
  const options = { path, mode: 0o600, bufferBytesMax: 1_000, timer: "server.audit" } as const;
  const file = await openLineFile(new NodeClock(), { ...options, rotation });
  const writer = { name: "a", isStranger: false };
  const write = (line: string): Promise<boolean> =>
    new Promise((resolve) => file.append(line, writer, undefined, resolve));
  for (let at = 0; at < 3; at++) assert.equal(await write(`${at}`.padEnd(60, "x")), true);
  await file.close();
  const names = readdirSync(folder).toSorted();
  assert.ok(names.length >= 2, names.join(" "));
  for (const name of names)
    assert.match(name, /^audit(-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3})?\.log$/);
  assert.match(readFileSync(path, "utf8"), /^2x+\n$/);
});

test("the newest backups stay, none that is too old, and they are packed", async () => {
  const folder = mkdtempSync(join(directory, "old-"));
  const path = join(folder, "audit.log");
  const nameOf = (day: number): string => `audit-2026-01-0${day}T00-00-00.000.log`;
  for (const day of [1, 2, 3, 4, 5]) writeFileSync(join(folder, nameOf(day)), `${day}`);
  writeFileSync(join(folder, "audit-of-somebody.log"), "stays");
  const nowMs = Date.parse("2026-01-06T00:00:00Z");
  const dayMs = 24 * 60 * 60 * 1000;
  writeFileSync(path, "6");
  const limits = { ...rotation, backupsMax: 4, ageMsMax: 3.5 * dayMs, isPacked: true };
  await (
    await rotate(path, limits, nowMs)
  ).tidied;
  const kept = [3, 4, 5, 6].map((day) => `${nameOf(day)}.gz`);
  assert.deepEqual(readdirSync(folder).toSorted(), [...kept, "audit-of-somebody.log"]);
  assert.equal(gunzipSync(readFileSync(join(folder, kept[0] ?? ""))).toString(), "3");
});
