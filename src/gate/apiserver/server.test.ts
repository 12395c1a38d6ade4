/** The API server at its door: requests in, answers out, over a store in memory. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { ask, openPlane, pod, pods, request, statusOf, withPlane } from "./testing/plane.ts";

test("a created pod is defaulted, stamped and read back", () =>
  withPlane(async (plane) => {
    const made = await ask(plane, "POST", pods, { body: pod("a") });
    assert.equal(made.status, 201, made.text);
    assert.match(made.json.metadata?.uid ?? "", /^[0-9a-f-]{36}$/);
    assert.equal(made.json.metadata?.namespace, "default");
    assert.equal((made.json["spec"] as { restartPolicy?: string }).restartPolicy, "Always");
    const read = await ask(plane, "GET", `${pods}/a`);
    assert.equal(read.status, 200);
    assert.deepEqual(read.json, made.json);
    assert.equal(read.headers["cache-control"], "no-cache, private");
  }));

test("errors carry upstream's texts", () =>
  withPlane(async (plane) => {
    const missing = await ask(plane, "GET", `${pods}/x`);
    assert.equal(missing.status, 404);
    assert.deepEqual(missing.json, {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: 'pods "x" not found',
      reason: "NotFound",
      details: { name: "x", kind: "pods" },
      code: 404,
    });
    await ask(plane, "POST", pods, { body: pod("a") });
    const again = await ask(plane, "POST", pods, { body: pod("a") });
    assert.equal(statusOf(again).message, 'pods "a" already exists');
    const elsewhere = await ask(plane, "POST", pods, { body: pod("b", { namespace: "other" }) });
    assert.match(statusOf(elsewhere).message ?? "", /does not match the namespace sent/);
    const wrong = await ask(plane, "POST", pods, {
      body: { ...pod("b"), apiVersion: "apps/v1" } as object,
    });
    assert.equal(
      statusOf(wrong).message,
      'Pod in version "v1" cannot be handled as a Pod: no kind "Pod" is registered for version "apps/v1" in scheme "pkg/runtime/scheme.go:111"',
    );
    const invalid = await ask(plane, "POST", pods, { body: pod("Bad_Name") });
    assert.equal(invalid.status, 422);
    const unknown = await ask(plane, "GET", "/api/v1/nothings");
    assert.equal(statusOf(unknown).message, "the server could not find the requested resource");
    for (const target of ["/apis/apps/v9", "/api/v9"]) {
      const version = await ask(plane, "GET", target);
      assert.equal(version.status, 404);
      const said = "the server could not find the requested resource";
      assert.equal(statusOf(version).message, said);
    }
    assert.equal((await ask(plane, "GET", "/apis/nothing/v1")).text, "404 page not found\n");
    const method = await ask(plane, "POST", `${pods}/a`, { body: pod("a") });
    assert.equal(method.status, 405);
    const path = await ask(plane, "GET", "/nowhere");
    assert.equal(path.text, "404 page not found\n");
  }));

test("unknown and repeated fields warn, are refused when strict, and pass when ignored", () =>
  withPlane(async (plane) => {
    const text =
      '{"metadata":{"name":"N","name":"N"},"spec":{"containers":[{"name":"c","image":"i"}],"foo":1}}';
    const body = (name: string): string => text.replaceAll("N", name);
    const warned = await ask(plane, "POST", pods, { body: body("a") });
    assert.equal(warned.status, 201, warned.text);
    assert.deepEqual(warned.headers["warning"], [
      '299 - "duplicate field \\"metadata.name\\""',
      '299 - "unknown field \\"spec.foo\\""',
    ]);
    const strict = await ask(plane, "POST", `${pods}?fieldValidation=Strict`, { body: body("b") });
    assert.equal(strict.status, 400);
    assert.match(
      statusOf(strict).message ?? "",
      /strict decoding error: duplicate field "metadata.name", unknown field "spec.foo"$/,
    );
    const ignored = await ask(plane, "POST", `${pods}?fieldValidation=Ignore`, { body: body("c") });
    assert.equal(ignored.headers["warning"], undefined);
  }));

test("PUT locks by resourceVersion, keeps names, and PATCH comes in three kinds", () =>
  withPlane(async (plane) => {
    const target = "/api/v1/namespaces/default/configmaps";
    const config = { metadata: { name: "c" }, data: { a: "1" } };
    const made = await ask(plane, "POST", target, { body: config });
    const version = made.json.metadata?.resourceVersion;
    const next = { ...config, metadata: { name: "c", resourceVersion: version }, data: { a: "2" } };
    const put = await ask(plane, "PUT", `${target}/c`, { body: next });
    assert.equal(put.status, 200, put.text);
    const stale = await ask(plane, "PUT", `${target}/c`, { body: next });
    assert.equal(stale.status, 409);
    assert.match(statusOf(stale).message ?? "", /the object has been modified/);
    const renamed = await ask(plane, "PUT", `${target}/d`, { body: next });
    assert.equal(
      statusOf(renamed).message,
      "the name of the object (c) does not match the name on the URL (d)",
    );
    const patches = [
      ["application/merge-patch+json", { data: { b: "3" } }],
      ["application/strategic-merge-patch+json", { data: { c: "4" } }],
      ["application/json-patch+json", [{ op: "add", path: "/data/d", value: "5" }]],
    ] as const;
    for (const [type, body] of patches) {
      const patched = await ask(plane, "PATCH", `${target}/c`, { body, type });
      assert.equal(patched.status, 200, patched.text);
    }
    const read = await ask(plane, "GET", `${target}/c`);
    assert.deepEqual(read.json["data"], { a: "2", b: "3", c: "4", d: "5" });
    const odd = await ask(plane, "PATCH", `${target}/c`, { body: {}, type: "text/plain" });
    assert.equal(odd.status, 415);
    const missing = await ask(plane, "PATCH", `${target}/x`, {
      body: {},
      type: "application/merge-patch+json",
    });
    assert.equal(statusOf(missing).message, 'configmaps "x" not found');
  }));

test("a dry run stores nothing", () =>
  withPlane(async (plane) => {
    const dry = await ask(plane, "POST", `${pods}?dryRun=All`, { body: pod("a") });
    assert.equal(dry.status, 201);
    assert.equal(dry.json.metadata?.resourceVersion, undefined);
    const read = await ask(plane, "GET", `${pods}/a`);
    assert.equal(read.status, 404);
    const bad = await ask(plane, "POST", `${pods}?dryRun=Some`, { body: pod("a") });
    assert.match(statusOf(bad).message ?? "", /dryRun: Unsupported value/);
  }));

test("deletion answers with a Status, a pending object, or the list of a collection", () =>
  withPlane(async (plane) => {
    const target = "/api/v1/namespaces/default/configmaps";
    await ask(plane, "POST", target, { body: { metadata: { name: "a" } } });
    const gone = await ask(plane, "DELETE", `${target}/a`);
    const details = statusOf(gone).details;
    assert.equal(statusOf(gone).status, "Success");
    assert.equal(details?.kind, "configmaps");
    const held = { metadata: { name: "b", finalizers: ["example.com/x"] } };
    await ask(plane, "POST", target, { body: held });
    const pending = await ask(plane, "DELETE", `${target}/b`);
    assert.equal(pending.json.kind, "ConfigMap");
    assert.notEqual(pending.json.metadata?.deletionTimestamp, undefined);
    const released = { metadata: { finalizers: null } };
    await ask(plane, "PATCH", `${target}/b`, {
      body: released,
      type: "application/merge-patch+json",
    });
    assert.equal((await ask(plane, "GET", `${target}/b`)).status, 404);
    for (const name of ["c", "d"])
      await ask(plane, "POST", target, { body: { metadata: { name } } });
    const all = await ask(plane, "DELETE", target);
    assert.equal((all.json["items"] as unknown[]).length, 2);
    assert.equal(((await ask(plane, "GET", target)).json["items"] as unknown[]).length, 0);
  }));

test("health, version, metrics and the index answer", () =>
  withPlane(async (plane) => {
    assert.equal((await ask(plane, "GET", "/readyz")).text, "ok");
    const verbose = await ask(plane, "GET", "/readyz?verbose");
    assert.match(verbose.text, /^\[\+\]ping ok\n.*readyz check passed\n$/s);
    plane.server.shutdown();
    const leaving = await ask(plane, "GET", "/readyz");
    assert.equal(leaving.status, 500);
    assert.match(leaving.text, /\[-\]shutdown failed: reason withheld/);
    assert.equal((await ask(plane, "GET", "/livez/ping")).text, "ok");
    const version = await ask(plane, "GET", "/version");
    assert.equal((version.json as { minor?: string }).minor, "36");
    await ask(plane, "GET", pods);
    const metrics = await ask(plane, "GET", "/metrics");
    assert.match(
      metrics.text,
      /apiserver_request_total\{verb="LIST",group="",version="v1",resource="pods",subresource="",scope="namespace",component="apiserver",dry_run="",code="200"\} 1/,
    );
    const index = await ask(plane, "GET", "/");
    assert.ok((index.json["paths"] as string[]).includes("/healthz"));
  }));

test("direct callers pass and get objects, without bytes", () =>
  withPlane(async (plane) => {
    const signal = new AbortController().signal;
    const user = { name: "system:test", groups: [] };
    const base = { headers: {}, query: "", peer: { kind: "direct", user } as const, signal };
    const object = Object.freeze(pod("a"));
    const made = await plane.server.handler({
      ...base,
      method: "POST",
      path: pods,
      body: { kind: "object", object },
    });
    assert.ok(made.kind === "object");
    assert.equal(made.status, 201);
    const listed = await plane.server.handler({
      ...base,
      method: "GET",
      path: pods,
      body: { kind: "none" },
    });
    assert.ok(listed.kind === "object");
    assert.equal((listed.object as { items: unknown[] }).items.length, 1);
    const seen: string[] = [];
    const watched = await plane.server.handler({
      ...base,
      method: "GET",
      path: pods,
      query: "watch=1",
      body: { kind: "none" },
    });
    assert.ok(watched.kind === "events");
    const close = watched.open({
      deliver: (events) => seen.push(...events.map((event) => event.type)),
      end: () => {},
    });
    await ask(plane, "DELETE", `${pods}/a?gracePeriodSeconds=0`);
    await plane.clock.advance(100);
    assert.deepEqual(seen, ["ADDED", "MODIFIED", "DELETED"]);
    close();
  }));

test("a deadline passes: the client gets 504 and the handler an aborted signal", async () => {
  const stuck = {
    name: "Stuck",
    mutate: () => new Promise<never>(() => {}),
  };
  const plane = await openPlane({ plugins: [stuck] });
  const answer = ask(plane, "POST", `${pods}?timeout=2s`, { body: pod("a") });
  await plane.clock.advance(3_000);
  assert.equal((await answer).status, 504);
  await plane.close();
});

test("a review is admitted as an object that is created", async () => {
  const seen: string[] = [];
  const watching = {
    name: "Watching",
    validate: ({ operation, info }: { operation: string; info: { kind: string } }) => {
      seen.push(`${operation} ${info.kind}`);
    },
  };
  const plane = await openPlane({ plugins: [watching] });
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  assert.equal((await ask(plane, "POST", path, { body })).status, 201);
  assert.deepEqual(seen, ["CREATE SelfSubjectReview"]);
  await plane.close();
});

test("who may not is told so in upstream's words", async () => {
  const denied = { allowed: false, denied: false, reason: "" };
  const authorizer = {
    authorize: () => denied,
    rulesFor: () => ({ rules: [], incomplete: false }),
  };
  const plane = await openPlane({ authorizer });
  const answer = await ask(plane, "GET", `${pods}/a`);
  assert.equal(answer.status, 403);
  assert.equal(
    statusOf(answer).message,
    'pods "a" is forbidden: User "tester" cannot get resource "pods" in API group "" in the namespace "default"',
  );
  const path = await ask(plane, "GET", "/metrics");
  assert.equal(statusOf(path).message, 'forbidden: User "tester" cannot get path "/metrics"');
  await plane.close();
});

test("a body over the limit is 413, an unknown type 415, YAML is taken and given", () =>
  withPlane(async (plane) => {
    const big = await ask(plane, "POST", pods, { body: "x".repeat(4 * 1024 * 1024) });
    assert.equal(big.status, 413);
    const odd = await ask(plane, "POST", pods, {
      body: "x",
      type: "application/cbor",
    });
    assert.equal(odd.status, 415);
    const yaml = "metadata:\n  name: a\nspec:\n  containers:\n  - name: c\n    image: i\n";
    const made = await ask(plane, "POST", pods, {
      body: yaml,
      type: "application/yaml",
      headers: { accept: "application/yaml" },
    });
    assert.equal(made.status, 201, made.text);
    assert.match(made.text, /^apiVersion: v1$/m);
    const only = await ask(plane, "GET", pods, {
      headers: { accept: "application/cbor" },
    });
    assert.equal(only.status, 406);
    const either = await ask(plane, "GET", pods, {
      headers: { accept: "application/cbor,application/json" },
    });
    assert.equal(either.status, 200);
    assert.equal(request("GET", "/x").path, "/x");
  }));

test("server-side apply creates, owns, conflicts by name of manager, and yields to force", () =>
  withPlane(async (plane) => {
    const target = "/api/v1/namespaces/default/configmaps/c";
    const type = "application/apply-patch+yaml";
    const apply = (
      manager: string,
      value: string,
      more = "",
    ): Promise<{ status: number; json: AnyObject; text: string }> =>
      ask(plane, "PATCH", `${target}?fieldManager=${manager}${more}`, {
        body: `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  a: "${value}"\n`,
        type,
      });
    const made = await apply("one", "1");
    assert.equal(made.status, 201, made.text);
    const entry = made.json.metadata?.managedFields?.[0];
    assert.equal(entry?.manager, "one");
    assert.equal(entry?.operation, "Apply");
    const same = await apply("one", "1");
    assert.equal(same.status, 200);
    assert.equal(same.json.metadata?.resourceVersion, made.json.metadata?.resourceVersion);
    const conflict = await apply("two", "2");
    assert.equal(conflict.status, 409);
    assert.match(statusOf(conflict).message ?? "", /conflict with "one".*: \.data\.a/s);
    const forced = await apply("two", "2", "&force=true");
    assert.equal(forced.status, 200);
    assert.deepEqual(forced.json["data"], { a: "2" });
    const nobody = await ask(plane, "PATCH", target, { body: "{}", type });
    assert.match(
      statusOf(nobody).message ?? "",
      /fieldManager: Required value: is required for apply patch/,
    );
  }));

test("discovery and OpenAPI are served with tags, in both forms", () =>
  withPlane(async (plane) => {
    const groups = await ask(plane, "GET", "/apis");
    assert.equal(groups.json.kind, "APIGroupList");
    const core = await ask(plane, "GET", "/api/v1");
    assert.equal(core.json.kind, "APIResourceList");
    const versions = await ask(plane, "GET", "/api", { headers: { host: "h:1" } });
    assert.equal(versions.json.kind, "APIVersions");
    assert.match(versions.text, /"serverAddress":"h:1"/);
    const accept =
      "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    const all = await ask(plane, "GET", "/apis", { headers: { accept } });
    assert.equal(all.json.kind, "APIGroupDiscoveryList");
    const etag = String(all.headers["etag"]);
    const again = await ask(plane, "GET", "/apis", {
      headers: { accept, "if-none-match": etag },
    });
    assert.equal(again.status, 304);
    const index = await ask(plane, "GET", "/openapi/v3");
    const paths = index.json["paths"] as Record<string, { serverRelativeURL: string }>;
    const url = paths["apis/apps/v1"]?.serverRelativeURL ?? "";
    const document = await ask(plane, "GET", url);
    assert.equal(document.headers["cache-control"], "public, immutable");
    const moved = await ask(plane, "GET", url.replace(/hash=.*/, "hash=X"));
    assert.equal(moved.status, 301);
    assert.equal(moved.headers["location"], url);
    const v2 = await ask(plane, "GET", "/openapi/v2", {
      headers: { accept: "application/com.github.proto-openapi.spec.v2@v1.0+protobuf" },
    });
    assert.equal(v2.status, 200);
    assert.equal((await ask(plane, "GET", "/apis/nothing.example/v1")).status, 404);
  }));
