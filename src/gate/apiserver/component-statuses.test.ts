/** componentstatuses, as a stock server with a scheduler, a controller manager and an etcd answers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, type Plane, withPlane } from "./testing/plane.ts";

const path = "/api/v1/componentstatuses";
const well = [{ type: "Healthy", status: "True", message: "ok" }];

test("a store alone is etcd-0; items of the list have no type, a single one has", () =>
  withPlane(async (plane) => {
    const { json } = await ask(plane, "GET", path);
    assert.deepEqual(json, {
      kind: "ComponentStatusList",
      apiVersion: "v1",
      metadata: {},
      items: [{ metadata: { name: "etcd-0" }, conditions: well }],
    });
    assert.deepEqual((await ask(plane, "GET", `${path}/etcd-0`)).json, {
      kind: "ComponentStatus",
      apiVersion: "v1",
      metadata: { name: "etcd-0" },
      conditions: well,
    });
  }));

test("one that is not there is named in the singular", () =>
  withPlane(async (plane) => {
    const { json } = await ask(plane, "GET", `${path}/x`);
    assert.equal(json["message"], 'componentstatus "x" not found');
    assert.deepEqual(json["details"], { name: "x", kind: "componentstatus" });
  }));

test("labels select none of them, names do", () =>
  withPlane(async (plane) => {
    const names = async (query: string): Promise<unknown> => {
      const { json } = await ask(plane, "GET", `${path}?${query}`);
      return (json["items"] as { metadata: { name: string } }[]).map(
        ({ metadata }) => metadata.name,
      );
    };
    assert.deepEqual(await names("labelSelector=a%3Db"), []);
    assert.deepEqual(await names("labelSelector=!a"), ["etcd-0"]);
    assert.deepEqual(await names("fieldSelector=metadata.name%3Detcd-0"), ["etcd-0"]);
    assert.deepEqual(await names("fieldSelector=metadata.name%3Dx"), []);
  }));

async function namesOf(plane: Plane): Promise<readonly string[]> {
  const { json } = await ask(plane, "GET", path);
  return (json["items"] as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name);
}

test("a process that runs the scheduler and the controllers lists them first", () =>
  withPlane(
    async (plane) => {
      assert.deepEqual(await namesOf(plane), ["scheduler", "controller-manager", "etcd-0"]);
    },
    { runsBeside: ["scheduler", "controller-manager"] },
  ));
