/** Joined views over HTTP: rights on every joined resource, 304 for a poller that has the table, and changes since a position. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Client } from "#client/client.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { relayLimits } from "../../limits.ts";
import { collectionPath } from "../../mirror/mirrored-kind.ts";
import { createRelay } from "../../relay.ts";
import { ClusterTransport, FakeCluster } from "../../testing/fake-cluster.ts";
import { relayDeps } from "../../testing/relay-fixture.ts";
import { ann, bodyOf, plain } from "../../testing/relay-world.ts";
import { chosenObject, routedKinds } from "../../testing/routed-objects.ts";
import { parseViewFile } from "../view-definition.ts";

const [first, ...joined] = routedKinds;

interface Asked {
  readonly spec: { readonly resourceAttributes?: { readonly resource?: string } };
}

/** `refused`: the one resource that nobody may read. */
class Door {
  readonly cluster = new FakeCluster();
  readonly #clock = new FakeClock();
  readonly #transport = new ClusterTransport(this.cluster);
  readonly #relay: ReturnType<typeof createRelay>;

  constructor(refused = "") {
    for (const [kind, mirrored] of routedKinds.entries())
      for (const which of [0, 1, 2])
        this.cluster.put(collectionPath(mirrored), chosenObject({ kind, which, variant: 0 }));
    const [definition] = parseViewFile("views: [{name: routes, shipped: skipper-routes}]");
    assert(definition !== undefined);
    const client = {
      create: (_: unknown, __: string, { spec }: Asked) =>
        Promise.resolve({ status: { allowed: spec.resourceAttributes?.resource !== refused } }),
    } as unknown as Client;
    this.#relay = createRelay(
      { ...relayDeps(this.#clock, this.#transport), client },
      {
        resources: routedKinds,
        views: [{ definition, kind: first, joined }],
        consistency: "cache",
        limits: { ...relayLimits, flushMs: 0 },
      },
    );
  }

  async get(target: string, headers: Record<string, string> = {}): ReturnType<typeof bodyOf> {
    await this.#clock.advance(1);
    this.#transport.deliver();
    await this.#clock.advance(1);
    const answer = this.#relay.handler(plain("GET", target, headers, ann));
    await this.#clock.advance(500);
    return bodyOf(await answer);
  }

  async stop(): Promise<void> {
    const stopped = this.#relay.stop();
    this.#transport.cut();
    await this.#clock.advance(100_000);
    await stopped;
  }
}

void describe("a joined view at the door", () => {
  for (const { resource } of routedKinds) {
    void it(`is refused to a user without the right to one joined resource: ${resource}`, async () => {
      const door = new Door(resource);
      const { status, text } = await door.get("/views/routes");
      assert.equal(status, 403, text);
      assert.ok(!text.includes("example.org"), "no row is shown");
      await door.stop();
    });
  }

  void it("is 304 to who has it, and whole after a change", async () => {
    const door = new Door();
    const whole = await door.get("/views/routes");
    assert.equal(whole.status, 200, whole.text);
    const known = { "if-none-match": String(whole.headers["etag"]) };
    assert.equal((await door.get("/views/routes", known)).status, 304);
    door.cluster.remove(collectionPath(routedKinds[2]), "shop/o0");
    const next = await door.get("/views/routes", known);
    assert.equal(next.status, 200);
    assert.notEqual(next.text, whole.text);
    await door.stop();
  });

  void it("tells changes after its own X-Revision, and 410 after any other", async () => {
    const door = new Door();
    const since = String((await door.get("/views/routes")).headers["x-revision"]);
    door.cluster.remove(collectionPath(routedKinds[2]), "shop/o0");
    const changes = await door.get(`/views/routes?since=${since}`);
    assert.equal(changes.status, 200, changes.text);
    assert.match(changes.text, /"deleted":\[\{/);
    for (const other of ["812-790-811-3", "x", `${since}0`, since.replace(/^./, "g")])
      assert.equal((await door.get(`/views/routes?since=${other}`)).status, 410, other);
    await door.stop();
  });

  void it("keeps what an Ingress says inside its route: a host cannot add one", async () => {
    const door = new Door();
    const host = 'x.org") -> <shunt>;\nevil: * -> "http://evil.org';
    const ingress = chosenObject({ kind: 2, which: 0, variant: 0 });
    const hostile = JSON.parse(
      JSON.stringify(ingress).replaceAll("a.example.org", JSON.stringify(host).slice(1, -1)),
    ) as typeof ingress;
    assert.notDeepEqual(hostile, ingress, "it has the host");
    door.cluster.put(collectionPath(routedKinds[2]), hostile);
    const { text, headers } = await door.get("/views/routes");
    assert.ok(!/^evil:/m.test(text), text);
    assert.equal(text.trimEnd().split("\n").length, Number(headers["x-count"]), "a line per route");
    await door.stop();
  });
});
