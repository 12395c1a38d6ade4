/** Lists and watches at the API server's door, byte for byte and event by event. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { ask, pod, pods, statusOf, watch, withPlane } from "./testing/plane.ts";

test("a list is the bytes of its objects, twice the same, in pages and as a table", () =>
  withPlane(async (plane) => {
    for (let i = 0; i < 40; i++) await ask(plane, "POST", pods, { body: pod(`p${i + 10}`) });
    const first = await ask(plane, "GET", pods);
    const second = await ask(plane, "GET", pods);
    assert.equal(first.text, second.text);
    assert.equal(first.json.kind, "PodList");
    assert.equal((first.json["items"] as AnyObject[]).length, 40);
    const page = await ask(plane, "GET", `${pods}?limit=30`);
    const meta = page.json.metadata as { continue?: string; remainingItemCount?: number };
    assert.equal(meta.remainingItemCount, 10);
    const rest = await ask(plane, "GET", `${pods}?limit=30&continue=${meta.continue}`);
    assert.equal((rest.json["items"] as AnyObject[]).length, 10);
    const named = await ask(plane, "GET", `${pods}?fieldSelector=metadata.name%3Dp11`);
    assert.equal((named.json["items"] as AnyObject[]).length, 1);
    const bad = await ask(plane, "GET", `${pods}?fieldSelector=spec.foo%3Dx`);
    assert.equal(statusOf(bad).message, "field label not supported: spec.foo");
    const accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    const table = await ask(plane, "GET", pods, { headers: { accept } });
    assert.equal(table.json.kind, "Table");
    const columns = table.json["columnDefinitions"] as { name: string }[];
    assert.deepEqual(
      columns.slice(0, 3).map((c) => c.name),
      ["Name", "Ready", "Status"],
    );
    assert.equal((table.json["rows"] as unknown[]).length, 40);
    assert.equal(table.headers["content-type"], "application/json");
  }));

test("an indented list is the compact one, also of metadata alone", () =>
  withPlane(async (plane) => {
    for (const name of ["a", "b"]) await ask(plane, "POST", pods, { body: pod(name) });
    const metadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    for (const path of [pods, "/api/v1/namespaces", definitions]) {
      for (const accept of ["application/json", metadata]) {
        const compact = await ask(plane, "GET", path, { headers: { accept } });
        const indented = await ask(plane, "GET", `${path}?pretty=true`, { headers: { accept } });
        assert.equal(indented.text.trim(), JSON.stringify(compact.json, undefined, 2), path);
      }
    }
  }));

test("an empty list has items, not null; a list of nonsense options is a 422", () =>
  withPlane(async (plane) => {
    const empty = await ask(plane, "GET", pods);
    assert.match(empty.text, /"items":\[\]}\n$/);
    const bad = await ask(plane, "GET", `${pods}?resourceVersionMatch=Exact`);
    assert.equal(bad.status, 422);
    assert.equal(
      statusOf(bad).message,
      'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided',
    );
  }));

test("a watch tells what happens, in order, to all watchers with the same bytes", () =>
  withPlane(async (plane) => {
    await ask(plane, "POST", pods, { body: pod("a") });
    const one = await watch(plane, `${pods}?watch=1`);
    const two = await watch(plane, `${pods}?watch=true`);
    const patch = { metadata: { labels: { x: "y" } } };
    await ask(plane, "PATCH", `${pods}/a`, { body: patch, type: "application/merge-patch+json" });
    await ask(plane, "DELETE", `${pods}/a?gracePeriodSeconds=0`);
    await plane.clock.advance(100);
    const types = one.events().map((event) => event.type);
    assert.deepEqual(types, ["ADDED", "MODIFIED", "MODIFIED", "DELETED"]);
    assert.deepEqual(one.events(), two.events());
    const versions = one.events().map((event) => Number(event.object.metadata?.resourceVersion));
    assert.deepEqual(
      versions,
      versions.toSorted((a, b) => a - b),
    );
    one.close();
    two.close();
  }));

test("a watch of tables begins with what one turn of the loop can make, and goes on in others", () =>
  withPlane(async (plane) => {
    const path = "/api/v1/namespaces/default/configmaps";
    for (let i = 0; i < 60; i++)
      await ask(plane, "POST", path, { body: { metadata: { name: `c${i}` } } });
    const forms = [
      "application/json;as=Table;v=v1;g=meta.k8s.io",
      "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    ];
    for (const accept of forms) {
      const started = await watch(plane, `${path}?watch=1`, { headers: { accept } });
      assert.ok(started.events().length < 60, `${started.events().length} at once`);
      await plane.clock.advance(10);
      assert.equal(started.events().length, 60);
      started.close();
    }
  }));

test("a slow watcher is paused, not lost, and timeoutSeconds ends the stream cleanly", () =>
  withPlane(async (plane) => {
    const slow = await watch(plane, `${pods}?watch=1&timeoutSeconds=30&allowWatchBookmarks=true`);
    assert.deepEqual(slow.events()[0]?.object.metadata?.annotations, {
      "k8s.io/initial-events-end": "true",
    });
    slow.room = false;
    await ask(plane, "POST", pods, { body: pod("a") });
    await plane.clock.advance(100);
    await ask(plane, "POST", pods, { body: pod("b") });
    await plane.clock.advance(100);
    assert.deepEqual(
      slow
        .events()
        .slice(1)
        .map((event) => event.object.metadata?.name),
      ["a"],
    );
    slow.room = true;
    slow.drain();
    assert.deepEqual(
      slow
        .events()
        .slice(1)
        .map((event) => event.object.metadata?.name),
      ["a", "b"],
    );
    await plane.clock.advance(30_000);
    assert.equal(slow.events().at(-1)?.type, "BOOKMARK");
    assert.equal(slow.ended, true);
  }));

test("a watch from a version of the future is refused, of initial events ends with a mark", () =>
  withPlane(async (plane) => {
    await ask(plane, "POST", pods, { body: pod("a") });
    const query =
      "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    const initial = await watch(plane, `${pods}?${query}`);
    const [added, mark] = initial.events();
    assert.equal(added?.type, "ADDED");
    assert.equal(mark?.type, "BOOKMARK");
    assert.deepEqual(mark?.object.metadata?.annotations, { "k8s.io/initial-events-end": "true" });
    const bad = await ask(plane, "GET", `${pods}?watch=1&sendInitialEvents=true`);
    assert.equal(bad.status, 422);
  }));

test("integers of a query take all of Go's int64, and nothing beyond it", () =>
  withPlane(async (plane) => {
    const most = await ask(plane, "GET", `${pods}?limit=9223372036854775807`);
    assert.equal(most.status, 200, most.text);
    const beyond = await ask(plane, "GET", `${pods}?limit=9223372036854775808`);
    assert.equal(beyond.status, 400);
    assert.equal(
      statusOf(beyond).message,
      'strconv.ParseInt: parsing "9223372036854775808": value out of range',
    );
    await ask(plane, "POST", pods, { body: pod("a") });
    const grace = "gracePeriodSeconds=9007199254740993";
    const gone = await ask(plane, "DELETE", `${pods}/a?dryRun=All&${grace}`);
    assert.equal(gone.status, 200, gone.text);
  }));

/** Long keys: some 1.5 MB that a watch keeps. */
function longSelector(mark: string): string {
  const prefix = `${"p".repeat(60)}.`.repeat(4);
  return Array.from({ length: 2_000 }, (_, at) => `!${prefix}com/${mark}${at}`).join();
}

test("watches of one user hold so many bytes of long selectors, then 429; equal ones count once, and closed ones not", () =>
  withPlane(async (plane) => {
    const path = (mark: string): string => `${pods}?watch=1&labelSelector=${longSelector(mark)}`;
    const open = [await watch(plane, path("a")), await watch(plane, path("b"))];
    const refused = await ask(plane, "GET", path("c"));
    assert.equal(refused.status, 429);
    assert.equal(refused.headers["retry-after"], "10");
    assert.equal(statusOf(refused).reason, "TooManyRequests");
    assert.match(statusOf(refused).message ?? "", /^too many long selectors are held by watches/);
    open.push(await watch(plane, path("a")));
    open.push(await watch(plane, `${pods}?watch=1&labelSelector=app`));
    assert.equal((await ask(plane, "GET", path("c").replace("watch=1&", ""))).status, 200);
    open[1]?.close();
    open.push(await watch(plane, path("c")));
    for (const one of open) one.close();
  }));
