/** Requests in metrics: upstream's verbs, scopes and buckets, and no series by a client's choice of words. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, watch, withPlane } from "./testing/plane.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";

type TestPlane = Parameters<Parameters<typeof withPlane>[0]>[0];

async function totals(plane: TestPlane): Promise<readonly string[]> {
  const page = await ask(plane, "GET", "/metrics");
  return page.text.split("\n").filter((line) => line.startsWith("apiserver_request_total{"));
}

function labelsOf(line: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...line.matchAll(/([a-z_]+)="([^"]*)"/g)].map(([, name = "", value = ""]) => [name, value]),
  );
}

test("a request is counted by upstream's verb and scope", () =>
  withPlane(async (plane) => {
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } };
    await ask(plane, "POST", configMaps, { body: object });
    await ask(plane, "GET", `${configMaps}/a`);
    await ask(plane, "GET", "/api/v1/configmaps");
    await ask(plane, "PUT", `${configMaps}/a?dryRun=All`, { body: object });
    await ask(plane, "PATCH", `${configMaps}/a?fieldManager=f`, {
      body: object,
      headers: { "content-type": "application/apply-patch+yaml" },
    });
    await ask(plane, "GET", "/readyz/ping");
    const rows = (await totals(plane)).map(labelsOf).map((of) => {
      const { verb, resource, scope, subresource, dry_run: dryRun, code } = of;
      return [verb, resource, scope, subresource, dryRun, code].join(" ");
    });
    assert.deepEqual(rows.sort(), [
      "APPLY configmaps resource   200",
      "GET   /readyz  200",
      "GET configmaps resource   200",
      "LIST configmaps cluster   200",
      "POST configmaps resource   201",
      "PUT configmaps resource  All 200",
    ]);
  }));

test("what a client invents makes no series: methods, paths, groups, resources and subresources", () =>
  withPlane(async (plane) => {
    await ask(plane, "GET", `${configMaps}/a`);
    const before = (await totals(plane)).length;
    for (let i = 0; i < 50; i++) {
      await ask(plane, "GET", `${configMaps}/a/invented-${i}`);
      await ask(plane, "GET", `/api/v1/namespaces/default/invented-${i}`);
      await ask(plane, "GET", `/apis/invented-${i}/v1/things`);
      await ask(plane, "GET", `/invented-${i}`);
      await ask(plane, `INVENTED${i}`, configMaps);
    }
    const after = await totals(plane);
    assert.ok(after.length - before <= 6, after.join("\n"));
    assert.ok(!after.some((line) => line.includes("invented")), after.join("\n"));
  }));

test("a scrape tells the most requests in flight since the scrape before, its own included", () =>
  withPlane(async (plane) => {
    await Promise.all(
      Array.from({ length: 5 }, (_, at) =>
        ask(plane, "POST", configMaps, { body: { metadata: { name: `n${at}` } } }),
      ),
    );
    const inFlight = async (): Promise<string | undefined> =>
      /^apiserver_current_inflight_requests\{request_kind="mutating"\} (\d+)$/m.exec(
        (await ask(plane, "GET", "/metrics")).text,
      )?.[1];
    assert.equal(await inFlight(), "5");
    assert.equal(await inFlight(), "0");
  }));

test("only answers to GET and LIST count as response sizes, and only short requests as indicators", () =>
  withPlane(async (plane) => {
    await ask(plane, "POST", configMaps, { body: { metadata: { name: "a" } } });
    await ask(plane, "GET", configMaps);
    const { text } = await ask(plane, "GET", "/metrics");
    const sized = text
      .split("\n")
      .filter((line) => line.startsWith("apiserver_response_sizes_count{"));
    assert.deepEqual(
      sized.map((line) => labelsOf(line)["verb"]),
      ["LIST"],
    );
    const bounds = text
      .split("\n")
      .filter((line) =>
        line.startsWith('apiserver_request_sli_duration_seconds_bucket{verb="LIST"'),
      )
      .map((line) => labelsOf(line)["le"]);
    assert.deepEqual([bounds[0], bounds.at(-2), bounds.length], ["0.05", "60", 22]);
  }));

test("a watch that asks for initial events is timed once, to the bookmark that ends them, and no other is", () =>
  withPlane(async (plane) => {
    const asked = "watch=1&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    await watch(plane, `${configMaps}?watch=1&allowWatchBookmarks=true`);
    await watch(plane, `${configMaps}?${asked}&sendInitialEvents=true`);
    await watch(plane, `/api/v1/configmaps?${asked}&sendInitialEvents=true`);
    await ask(plane, "POST", configMaps, { body: { metadata: { name: "a" } } });
    await plane.clock.advance(120_000);
    const name = "apiserver_watch_list_duration_seconds";
    const lines = plane.metrics.text().split("\n");
    const kind = 'group="",version="v1",resource="configmaps"';
    assert.deepEqual(
      lines.filter((line) => line.startsWith(`${name}_count`)),
      ["namespace", "cluster"].map((scope) => `${name}_count{${kind},scope="${scope}"} 1`),
    );
  }));
