/** Translations as csi-translation-lib 0.36.3 makes them: recorded, with the volumes it made them of. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { PersistentVolume } from "../gen/types.ts";
import { asCsi, csiDriverOf, inlineDisk, inTreePluginOf } from "./csi-migration.ts";

interface Recorded {
  readonly volume: PersistentVolume;
  /** Absent: no in-tree volume that is migrated. */
  readonly plugin?: string;
  /** Absent: upstream refuses to translate it. */
  readonly translated?: PersistentVolume["spec"];
}

const file = new URL("testdata/csi-migration.json", import.meta.url);
const recorded = JSON.parse(readFileSync(file, "utf8")) as readonly Recorded[];

for (const { volume, plugin, translated } of recorded) {
  test(`${volume.metadata?.name} is what upstream makes of it`, () => {
    const before = JSON.stringify(volume);
    const made = asCsi(volume);
    assert.equal(inTreePluginOf(volume), plugin);
    assert.deepEqual(made.spec, translated ?? volume.spec);
    assert.equal(made.metadata, volume.metadata);
    assert.equal(JSON.stringify(volume), before);
    if (translated !== undefined) assert.equal(made.spec?.csi?.driver, csiDriverOf(plugin ?? ""));
    // Made once.
    assert.equal(asCsi(volume), made);
  });
}

test("a disk that a pod names itself has the handle that its driver knows", () => {
  const handleOf = (source: object): string | undefined =>
    inlineDisk({ name: "v", ...source })?.handle;
  assert.equal(handleOf({ awsElasticBlockStore: { volumeID: "aws://zone/vol-1" } }), "vol-1");
  const disk = handleOf({ gcePersistentDisk: { pdName: "d" } });
  assert.equal(disk, "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d");
  assert.equal(handleOf({ cinder: { volumeID: "c" } }), "c");
  const azureDisk = { diskName: "d", diskURI: "/disks/d" };
  assert.equal(handleOf({ azureDisk: { ...azureDisk, kind: "Managed" } }), "/disks/d");
  assert.equal(handleOf({ azureDisk: { ...azureDisk, kind: "Shared" } }), undefined);
  assert.equal(handleOf({ awsElasticBlockStore: { volumeID: "aws://zone/other" } }), undefined);
  assert.equal(handleOf({ emptyDir: {} }), undefined);
});
