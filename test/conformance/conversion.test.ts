/** Conversion webhooks: upstream's conformance behaviours, and what else they promise. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import {
  collection,
  type ConversionWorld,
  custom,
  definitionName,
  definitionsPath,
  openConversionWorld,
  versions,
} from "./conversion-world.ts";

const name = "[sig-api-machinery] CustomResourceConversionWebhook [Privileged:ClusterAdmin]";

/** A world for one test: each changes its definition. */
async function inWorld(f: (world: ConversionWorld) => Promise<void>): Promise<void> {
  const world = await openConversionWorld();
  try {
    await f(world);
  } finally {
    await world.stop();
  }
}

describe(name, () => {
  test("should be able to convert from CR v1 to CR v2", () =>
    inWorld(async (world) => {
      await world.define();
      const body = custom("v1", "cr-instance-1");
      const created = await world.create(collection("v1"), body);
      assert.equal(created.status, 201, created.text);
      const read = await world.ask("GET", `${collection("v2")}/cr-instance-1`);
      assert.equal(read.status, 200, read.text);
      const { host, port, hostPort, apiVersion } = read.json as AnyObject & Record<string, unknown>;
      assert.deepEqual(
        { host, port, hostPort, apiVersion },
        { host: "local", port: "80", hostPort: undefined, apiVersion: "stable.example.com/v2" },
      );
    }));

  test("should be able to convert a non homogeneous list of CRs", () =>
    inWorld(async (world) => {
      await world.define();
      await world.create(collection("v1"), custom("v1", "cr-instance-1"));
      const patch = { spec: { versions: versions("v2") } };
      const path = `${definitionsPath}/${definitionName}`;
      const type = "application/merge-patch+json";
      const changed = await world.ask("PATCH", path, { body: patch, type });
      assert.equal(changed.status, 200, changed.text);
      await world.create(collection("v2"), custom("v2", "cr-instance-2"));
      for (const version of ["v1", "v2"]) {
        const { json, text, status } = await world.ask("GET", collection(version));
        assert.equal(status, 200, text);
        const { items } = json as unknown as { readonly items: readonly AnyObject[] };
        const own = version === "v1" ? "hostPort" : "host";
        assert.deepEqual(
          items.map((item) => [item.apiVersion, item[own] !== undefined]),
          Array.from({ length: 2 }, () => [`stable.example.com/${version}`, true]),
        );
      }
    }));
});
