/** Reads and watches of mirrored resources at the relay's door, as a Kubernetes client makes them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decodeProtobuf } from "#forms/protobuf/decode.ts";
import { readEnvelope } from "#wire/protobuf.ts";
import { ann, bodyOf, filled, type Json, names, plain } from "../testing/relay-world.ts";

void describe("a read of a mirrored resource", () => {
  void it("is answered here, by namespace, labels and fields, with bytes as the upstream sent them", async () => {
    const world = await filled(6);
    const all = await world.get("/api/v1/pods?resourceVersion=0");
    assert.deepEqual(names(all), ["p0", "p2", "p4", "p1", "p3", "p5"]);
    assert.equal(all.json.metadata?.resourceVersion, "7");
    assert.ok(all.text.includes('"big":9007199254740993'));
    const one = await world.get("/api/v1/namespaces/ns1/pods/p3?resourceVersion=0");
    assert.equal(one.json.metadata?.resourceVersion, "5");
    assert.deepEqual(
      names(await world.get("/api/v1/namespaces/ns0/pods?resourceVersion=0&labelSelector=v%3D0")),
      ["p0"],
    );
    assert.deepEqual(
      names(await world.get("/api/v1/pods?resourceVersion=0&fieldSelector=spec.nodeName%3Dn1")),
      ["p4", "p1"],
    );
    const missing = await world.get("/api/v1/namespaces/ns1/pods/none?resourceVersion=0");
    assert.equal(missing.json.message, 'pods "none" not found');
    assert.equal(world.passed.length, 0);
    await world.stop();
  });

  void it("passes through when it asks for what only the upstream can say", async () => {
    const world = await filled(1);
    const rows = [
      "/api/v1/namespaces/ns0/pods/p0",
      "/api/v1/namespaces/ns0/pods/p0/log",
      "/api/v1/pods?fieldSelector=spec.nonsense%3D1",
      "/api/v1/pods?labelSelector=%21%21",
      "/api/v1/pods?resourceVersion=abc",
      "/apis/apps/v1/deployments",
    ];
    for (const row of rows) assert.match((await world.get(row)).text, /^upstream answers GET/, row);
    const yaml = { accept: "application/yaml" };
    assert.match((await world.get("/api/v1/pods?resourceVersion=0", yaml)).text, /^upstream/);
    const headers = world.passed[0]?.headers ?? {};
    assert.equal(headers["authorization"], "Bearer relay");
    assert.equal(headers["impersonate-user"], "ann");
    assert.deepEqual(headers["impersonate-group"], ann.groups);
    await world.stop();
  });

  void it("answers in protobuf, but for what has no protobuf", async () => {
    const world = await filled(2);
    const accept = "application/vnd.kubernetes.protobuf";
    const listed = await world.get("/api/v1/pods?resourceVersion=0", { accept });
    assert.equal(listed.headers["content-type"], accept);
    const { kind, raw } = readEnvelope(Buffer.concat(listed.body));
    const list = decodeProtobuf({ group: "", version: "v1", kind }, raw) as unknown as Json;
    assert.deepEqual(
      list.items?.map(({ metadata }) => metadata?.name),
      ["p0", "p1"],
    );
    const one = await world.get("/api/v1/namespaces/ns0/pods/p0?resourceVersion=0", { accept });
    assert.equal(readEnvelope(Buffer.concat(one.body)).kind, "Pod");
    const only = `${accept};as=Table;g=meta.k8s.io;v=v1`;
    assert.match((await world.get("/api/v1/pods", { accept: only })).text, /^upstream/);
    assert.equal(world.passed.length, 1);
    await world.stop();
  });

  void it("pages through one moment, and its tokens have the upstream's form", async () => {
    const world = await filled(5);
    const first = await world.get("/api/v1/pods?limit=2");
    assert.deepEqual(names(first), ["p0", "p2"]);
    assert.equal(first.json.metadata?.remainingItemCount, 3);
    world.fake.write(["ns0/p4", undefined], ["ns1/p9", "1"]);
    await world.flow();
    const token = first.json.metadata?.continue ?? "";
    const form = JSON.parse(Buffer.from(token, "base64url").toString()) as unknown;
    assert.deepEqual(form, { v: "meta.k8s.io/v1", rv: 6, start: "/ns0/p2\0" });
    const rest = await world.get(`/api/v1/pods?limit=9&continue=${token}`);
    assert.deepEqual(names(rest), ["p4", "p1", "p3"]);
    assert.equal(rest.json.metadata?.resourceVersion, "6");
    await world.stop();
  });

  void it("pages name the moment that was asked for, also where a list alone showed it", async () => {
    const world = await filled(5);
    // Of other resources: this one's stream says nothing of it.
    world.fake.skip();
    world.fake.skip();
    const answer = world.relay.handler(plain("GET", "/api/v1/pods?limit=2", {}, ann));
    await world.clock.advance(5_000);
    const first = await bodyOf(await answer);
    assert.equal(first.json.metadata?.resourceVersion, "8");
    const token = first.json.metadata?.continue ?? "";
    const { lists } = world.fake;
    const here = await world.get(`/api/v1/pods?limit=1&continue=${token}`);
    assert.equal(here.json.metadata?.resourceVersion, "8");
    world.fake.write(["ns0/p4", undefined]);
    await world.flow();
    const rest = await world.get(`/api/v1/pods?limit=9&continue=${token}`);
    assert.deepEqual(names(rest), ["p4", "p1", "p3"]);
    assert.equal(rest.json.metadata?.resourceVersion, "8");
    assert.equal(world.fake.lists, lists, "of pages of ours the upstream hears nothing");
    await world.stop();
  });

  void it("of the most recent state asks the upstream once for all who wait, and never shows an older one", async () => {
    const world = await filled(2);
    const { lists } = world.fake;
    world.fake.write(["ns0/new", "1"]);
    const crowd = Array.from({ length: 50 }, () =>
      world.relay.handler(plain("GET", "/api/v1/pods", {}, ann)),
    );
    await world.clock.advance(5_000);
    for (const response of await Promise.all(crowd)) {
      assert.ok(names(await bodyOf(response)).includes("new"));
    }
    assert.equal(world.fake.lists, lists + 1);
    const late = world.relay.handler(plain("GET", "/api/v1/pods?resourceVersion=99", {}, ann));
    await world.clock.advance(60_000);
    assert.equal((await late).status, 504, "a revision nobody has reached");
    await world.stop();
  });

  void it("is served from the last known state while the upstream is away, and says so", async () => {
    const world = await filled(2);
    world.fake.down = true;
    world.fake.cut(false);
    await world.clock.advance(30_000);
    const answer = await world.get("/api/v1/pods");
    assert.equal(answer.status, 200);
    assert.match(
      String(answer.headers["warning"]),
      /^299 - "the relay cannot reach its upstream; this may be 30 s old"/,
    );
    await world.stop();
  });

  void it("shares one body, and one compression of it, with everybody at the same revision", async () => {
    const world = await filled(1200);
    const zipped = { "accept-encoding": "gzip" };
    const [one, two] = [
      await world.get("/api/v1/pods?resourceVersion=0", zipped),
      await world.get("/api/v1/pods?resourceVersion=0", zipped),
    ];
    assert.equal(one.headers["content-encoding"], "gzip");
    assert.equal(one.body[0], two.body[0]);
    assert.equal(one.json.items?.length, 1200);
    await world.stop();
  });
});

void describe("a watch of a mirrored resource", () => {
  void it("starts with the state or after a revision, and is told 410 only where history ends", async () => {
    const world = await filled(3);
    const state = await world.watch(
      "/api/v1/pods?watch=true&resourceVersion=0&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
    );
    const after = await world.watch("/api/v1/pods?watch=true&resourceVersion=4");
    const old = await world.watch("/api/v1/pods?watch=true&resourceVersion=2");
    world.fake.write(["ns0/p0", "9"]);
    await world.flow();
    assert.deepEqual(state.lines, [
      "ADDED p0@2",
      "ADDED p2@4",
      "ADDED p1@3",
      "BOOKMARK @4",
      "MODIFIED p0@5",
    ]);
    assert.ok(state.text.includes("k8s.io/initial-events-end"));
    assert.deepEqual(after.lines, ["MODIFIED p0@5"]);
    assert.deepEqual(old.lines, ["ERROR @410"]);
    assert.ok(old.ended);
    assert.equal(world.fake.watches, 1, "one upstream watch for all");
    await world.stop();
    assert.ok(state.ended);
  });

  void it("ends when its user may not read any more, and goes on while nobody can be asked", async () => {
    const world = await filled(1, { reviewStreamsMs: 30_000 });
    const watching = await world.watch("/api/v1/pods?watch=true&resourceVersion=0");
    world.reviewsAway = true;
    await world.clock.advance(31_000);
    assert.equal(watching.ended, false);
    world.reviewsAway = false;
    world.revoked.add("ann");
    await world.clock.advance(31_000);
    assert.equal(watching.ended, true);
    assert.equal((await world.get("/api/v1/pods?resourceVersion=0")).status, 403);
    await world.stop();
  });
});

void describe("watches with long selectors", () => {
  void it("are refused beyond so many bytes of one user, until some are closed", async () => {
    const world = await filled(1);
    const prefix = `${"p".repeat(60)}.`.repeat(4);
    const path = (mark: string): string => {
      const keys = Array.from({ length: 2_000 }, (_, at) => `!${prefix}com/${mark}${at}`);
      return `/api/v1/pods?watch=1&labelSelector=${keys.join()}`;
    };
    const open = [await world.watch(path("a")), await world.watch(path("b"))];
    assert.equal((await world.get(path("c"))).status, 429);
    open.push(await world.watch(path("a")));
    open[1]?.close?.();
    open.push(await world.watch(path("c")));
    for (const one of open) one.close?.();
    await world.stop();
  });
});
