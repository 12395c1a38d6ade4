/** Numbers beyond 2^53 and numbers of no size: every way of writing keeps 64 bits, nothing else passes, nothing throws. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { ask, type Plane, watch, withPlane } from "#apiserver/testing/plane.ts";
import { objectBytes } from "#forms/protobuf/envelope.ts";
import { parseExactJson } from "#base/exact-json.ts";
import type { AnyObject } from "#api/object.ts";

const revisions = "/apis/apps/v1/namespaces/default/controllerrevisions";
const one = `${revisions}/big`;
const kind = '"apiVersion":"apps/v1","kind":"ControllerRevision"';

/** Mostly at the edges: where doubles end, and where 64 bits do. */
const positive = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
  fc.bigInt({ min: 2n ** 53n - 3n, max: 2n ** 53n + 3n }),
  fc.bigInt({ min: 2n ** 63n - 4n, max: 2n ** 63n - 1n }),
);

function revision(value: bigint | string, data: string): string {
  return `{${kind},"metadata":{"name":"big"},"data":${data},"revision":${value}}`;
}

async function expectRevision(plane: Plane, value: bigint, what: string): Promise<void> {
  const { text } = await ask(plane, "GET", one);
  assert.equal(/"revision":(-?\d+)/.exec(text)?.[1], String(value), what);
  const listed = await ask(plane, "GET", revisions);
  assert.equal(/"revision":(-?\d+)/.exec(listed.text)?.[1], String(value), `list after ${what}`);
}

suite("integers of 64 bits", () => {
  test("are kept by every way of writing and reading", () =>
    withPlane(async (plane) => {
      await fc.assert(
        fc.asyncProperty(fc.array(positive, { minLength: 6, maxLength: 6 }), async (values) => {
          const [created = 0n, put = 0n, merged = 0n, strategic = 0n, set = 0n, applied = 0n] =
            values;
          const data = `{"a":[${values.join(",")}],"b":${-created - 1n}}`;
          const patch = async (type: string, body: string, target = one): Promise<void> => {
            const answer = await ask(plane, "PATCH", target, { body, type: `application/${type}` });
            assert.equal(answer.status, 200, answer.text);
          };
          await ask(plane, "DELETE", one);
          assert.equal(
            (await ask(plane, "POST", revisions, { body: revision(created, data) })).status,
            201,
          );
          await expectRevision(plane, created, "create");
          const { text } = await ask(plane, "GET", one);
          assert.ok(text.includes(data), text);
          await ask(plane, "PUT", one, { body: revision(put, data) });
          await expectRevision(plane, put, "update");
          await patch("merge-patch+json", `{"revision":${merged}}`);
          await expectRevision(plane, merged, "merge patch");
          await patch("strategic-merge-patch+json", `{"revision":${strategic}}`);
          await expectRevision(plane, strategic, "strategic patch");
          const path = '"path":"/revision","value"';
          const steps = `[{"op":"test",${path}:${strategic}},{"op":"replace",${path}:${set}}]`;
          await patch("json-patch+json", steps);
          await expectRevision(plane, set, "JSON patch");
          const forced = `${one}?fieldManager=a&force=true`;
          await patch("apply-patch+yaml", revision(applied, data), forced);
          await expectRevision(plane, applied, "apply");
        }),
        { numRuns: 30 },
      );
    }));

  test("travel in protobuf both ways, and in watches", () =>
    withPlane(async (plane) => {
      const watching = await watch(plane, `${revisions}?watch=true`);
      const object = parseExactJson(revision(2n ** 63n - 1n, '{"a":-9007199254740993}'));
      const body = objectBytes(object as AnyObject); // as written
      const type = "application/vnd.kubernetes.protobuf";
      const created = await ask(plane, "POST", revisions, { body, type });
      assert.equal(created.status, 201, created.text);
      assert.ok(created.text.includes('"revision":9223372036854775807'), created.text);
      assert.ok(created.text.includes('"data":{"a":-9007199254740993}'), created.text);
      assert.equal(watching.events()[0]?.object["revision"], 2n ** 63n - 1n);
      watching.close();
      const read = await ask(plane, "GET", one, { headers: { accept: type } });
      assert.ok(read.bytes.indexOf("ffffffffffffffff7f", 0, "hex") > 0);
    }));

  test("in a table are shown with all digits", () =>
    withPlane(async (plane) => {
      await ask(plane, "POST", revisions, { body: revision(2n ** 53n + 1n, "{}") });
      const accept = "application/json;as=Table;g=meta.k8s.io;v=v1";
      const { text } = await ask(plane, "GET", one, { headers: { accept } });
      assert.ok(text.includes("9007199254740993"), text);
    }));
});

suite("numbers that are none", () => {
  const long = "9".repeat(100_000);
  const refused = ["1e400", "-1e400", "1.0", "1e3", "9223372036854775808", long, `${long}e-9`];
  for (const value of refused) {
    test(`a typed integer is not ${value.slice(0, 30)}`, () =>
      withPlane(async (plane) => {
        const answer = await ask(plane, "POST", revisions, { body: revision(value, "{}") });
        assert.equal(answer.status, 400, answer.text);
        assert.match(answer.text, /cannot unmarshal number \S+ into Go struct field/);
        assert.ok(answer.text.length < 4_000);
      }));
  }

  test("a number beyond every double is refused where any JSON may stand, in every way of writing", () =>
    withPlane(async (plane) => {
      const body = revision("1", '{"a":[1e400]}');
      assert.equal((await ask(plane, "POST", revisions, { body })).status, 400);
      await ask(plane, "POST", revisions, { body: revision("1", "{}") });
      assert.equal((await ask(plane, "PUT", one, { body })).status, 400);
      for (const type of ["merge-patch+json", "strategic-merge-patch+json"]) {
        const patch = { body: '{"data":{"a":1e400}}', type: `application/${type}` };
        assert.equal((await ask(plane, "PATCH", one, patch)).status, 400, type);
      }
    }));

  test("in an applied body, which is YAML to every server, a number beyond every double is a text", () =>
    withPlane(async (plane) => {
      const body = revision("1", '{"a":[1e400]}');
      const applied = { body, type: "application/apply-patch+yaml" };
      const answer = await ask(plane, "PATCH", `${one}?fieldManager=a`, applied);
      assert.equal(answer.status, 201, answer.text);
      assert.deepEqual((answer.json as { data?: unknown }).data, { a: ["1e400"] });
    }));

  test("a body of as many long integers as fit is read, and they come back", () =>
    withPlane(async (plane) => {
      const data = `{"a":[${"9007199254740993,".repeat(60_000)}1]}`;
      const created = await ask(plane, "POST", revisions, { body: revision("1", data) });
      assert.equal(created.status, 201, created.text.slice(0, 300));
      assert.ok(created.text.includes(data));
    }));
});

test("a pod whose grace is beyond 2^53 is deleted, again, and at once", () =>
  withPlane(async (plane) => {
    const pods = "/api/v1/namespaces/default/pods";
    const spec =
      '{"nodeName":"n","terminationGracePeriodSeconds":9007199254740993,"containers":[{"name":"c","image":"i"}]}';
    const body = `{"metadata":{"name":"p"},"spec":${spec}}`;
    assert.equal((await ask(plane, "POST", pods, { body })).status, 201);
    const first = await ask(plane, "DELETE", `${pods}/p`);
    assert.equal(first.status, 200, first.text);
    assert.ok(first.text.includes('"deletionGracePeriodSeconds":9007199254740993'), first.text);
    for (const again of ["", "?gracePeriodSeconds=9223372036854775807", "?gracePeriodSeconds=5"]) {
      assert.equal((await ask(plane, "DELETE", `${pods}/p${again}`)).status, 200, again);
    }
    const options = '{"gracePeriodSeconds":0}';
    assert.equal((await ask(plane, "DELETE", `${pods}/p`, { body: options })).status, 200);
    assert.equal((await ask(plane, "GET", `${pods}/p`)).status, 404);
  }));
