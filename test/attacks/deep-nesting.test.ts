/** Deep nesting answers 400, whatever carries it, and never 500. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { ask, type Plane, withPlane } from "#apiserver/testing/plane.ts";

const core = "/api/v1/namespaces/default";
const configMaps = `${core}/configmaps`;
const revisions = "/apis/apps/v1/namespaces/default/controllerrevisions";
const yaml = "application/yaml";

const objects = (depth: number): string => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
const lists = (depth: number): string => `${"[".repeat(depth)}${"]".repeat(depth)}`;
const flow = (depth: number): string => `${"{a: ".repeat(depth)}1${"}".repeat(depth)}`;

async function post(plane: Plane, target: string, body: string, type?: string): Promise<number> {
  const options = type === undefined ? { body } : { body, type };
  return (await ask(plane, "POST", target, options)).status;
}

suite("deep nesting is a bad request", () => {
  for (const depth of [501, 5_000, 9_000, 100_000]) {
    test(`${depth} levels`, () =>
      withPlane(async (plane) => {
        for (const deep of [objects(depth), lists(depth)]) {
          const unknown = `{"metadata":{"name":"a"},"x":${deep}}`;
          assert.equal(await post(plane, configMaps, unknown), 400);
          assert.equal(await post(plane, `${configMaps}?fieldValidation=Strict`, unknown), 400);
          assert.equal(await post(plane, configMaps, unknown, yaml), 400);
          const revision = `{"metadata":{"name":"a"},"revision":1,"data":${deep}}`;
          assert.equal(await post(plane, revisions, revision), 400);
        }
        const inYaml = `metadata: {name: a}\nrevision: 1\ndata: ${flow(Math.min(depth, 9_000))}\n`;
        assert.equal(await post(plane, revisions, inYaml, yaml), 400);
      }));

    test(`${depth} levels in a patch`, () =>
      withPlane(async (plane) => {
        await post(plane, configMaps, '{"metadata":{"name":"base"}}');
        for (const type of ["merge", "strategic-merge"]) {
          const body = `{"x":${objects(depth)}}`;
          const options = { body, type: `application/${type}-patch+json` };
          assert.equal((await ask(plane, "PATCH", `${configMaps}/base`, options)).status, 400);
        }
        const body = `[{"op":"add","path":"/x","value":${lists(depth)}}]`;
        const options = { body, type: "application/json-patch+json" };
        assert.equal((await ask(plane, "PATCH", `${configMaps}/base`, options)).status, 400);
      }));
  }

  test("as deep as may be passes", () =>
    withPlane(async (plane) => {
      const data = `{"metadata":{"name":"deep"},"revision":1,"data":${objects(480)}}`;
      assert.equal(await post(plane, revisions, data), 201);
      const accept = yaml;
      const read = await ask(plane, "GET", `${revisions}/deep`, { headers: { accept } });
      assert.equal(read.status, 200);
    }));

  test("patches cannot make an object deeper step by step", () =>
    withPlane(async (plane) => {
      await post(plane, revisions, `{"metadata":{"name":"b"},"revision":1,"data":${objects(400)}}`);
      const from = `/data${"/a".repeat(300)}`;
      const body = JSON.stringify([{ op: "add", path: from, value: JSON.parse(objects(400)) }]);
      const options = { body, type: "application/json-patch+json" };
      const patched = await ask(plane, "PATCH", `${revisions}/b`, options);
      assert.equal(patched.status, 400, patched.text.slice(0, 300));
    }));
});
