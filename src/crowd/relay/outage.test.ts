/**
 * An upstream that goes, in every way and at every moment that a relay can meet: what the mirror holds is
 * served on to everybody whom the upstream had allowed, and nobody is allowed anew.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AnyObject } from "#api/object.ts";
import type { Client } from "#client/client.ts";
import { apiErrorOf } from "#client/transport.ts";
import {
  type ByteRequest,
  type ByteResponse,
  type ByteTransport,
  ByteTransportError,
} from "#platform/byte-transport.ts";
import type { PlainRequest, PlainResponse, UserInfo } from "#platform/http.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { jsonAnswer, wholeAnswer } from "#platform/testing/http-server.ts";
import { relayLimits } from "./limits.ts";
import type { MirroredKind } from "./mirror/mirrored-kind.ts";
import { createRelay, type Relay } from "./relay.ts";
import { FakeCollections } from "./testing/fake-collections.ts";
import { plainGet, relayDeps, Watching } from "./testing/relay-fixture.ts";

const maps = "/api/v1/configmaps";
const mapKind: MirroredKind = {
  group: "",
  version: "v1",
  resource: "configmaps",
  kind: "ConfigMap",
  namespaced: true,
  apiVersion: "v1",
};

interface Outage {
  /** What every request meets. */
  readonly meets: "refused" | "reset" | "silent" | number;
  /** Of /readyz, where it is answered otherwise. */
  readonly readyz?: number;
}

/** As an address without a server, a dying server, a cut cable, a load balancer alone, a server that starts. */
const outages: Readonly<Record<string, Outage>> = {
  "its port is closed": { meets: "refused" },
  "its connections are reset": { meets: "reset" },
  "it says nothing": { meets: "silent" },
  "a load balancer answers 404": { meets: 404 },
  "a load balancer answers 429": { meets: 429 },
  "a load balancer answers 500": { meets: 500 },
  "a load balancer answers 502": { meets: 502 },
  "a load balancer answers 503": { meets: 503 },
  "it starts, and does not know the relay's credential yet": { meets: 401, readyz: 500 },
  "it starts, and does not know the relay's rights yet": { meets: 403, readyz: 500 },
};

/** How long after the last yes the requests come, and whether a question was under way when it went. */
const moments: readonly {
  readonly name: string;
  readonly idleMs: number;
  readonly asking: boolean;
}[] = [
  { name: "at once", idleMs: 0, asking: false },
  { name: "while a yes is being renewed", idleMs: relayLimits.allowedMs * 0.95, asking: true },
  { name: "once a yes has run out", idleMs: relayLimits.allowedMs + 1, asking: false },
  { name: "with a question of its own under way", idleMs: relayLimits.allowedMs + 1, asking: true },
  { name: "half an hour later", idleMs: 1_800_000, asking: false },
];

const ann: UserInfo = { name: "ann", groups: ["team", "system:authenticated"] };
const certificate: Pick<PlainRequest, "peer" | "headers"> = {
  peer: { kind: "direct", user: ann },
  headers: {},
};
const stranger: typeof certificate = {
  peer: { kind: "direct", user: { name: "eve", groups: [] } },
  headers: {},
};
const callers: Readonly<Record<string, typeof certificate>> = {
  "a certificate": certificate,
  "a token": {
    peer: { kind: "socket", address: "127.0.0.1" },
    headers: { authorization: "Bearer t" },
  },
  "no credential": { peer: { kind: "socket", address: "127.0.0.1" }, headers: {} },
  "another's name": {
    peer: { kind: "direct", user: ann },
    headers: { "impersonate-user": "bob" },
  },
};
type Caller = typeof certificate;

const mirrored = `${maps}?resourceVersion=0`;
const reads: readonly string[] = [
  mirrored,
  `${maps}?resourceVersion=0&limit=1`,
  maps,
  "/api/v1/namespaces/ns/configmaps/a?resourceVersion=0",
  `${maps}?watch=true&resourceVersion=0`,
  `/etag${maps}`,
  "/api/v1",
];

class World implements ByteTransport {
  readonly clock = new FakeClock();
  readonly fake = new FakeCollections();
  readonly relay: Relay;
  outage: Outage | undefined;
  denied = false;
  /** Reviews hang, as one does that is on its way when the upstream goes. */
  holds = false;
  readonly #hung = new Set<() => void>();

  constructor() {
    this.fake.serve(maps);
    const metadata = { name: "a", namespace: "ns", uid: "uid-a" };
    this.fake.put(maps, { apiVersion: "v1", kind: "ConfigMap", metadata } as AnyObject);
    const create = (_: unknown, __: string, o: AnyObject): Promise<unknown> => this.#review(o);
    this.relay = createRelay(
      {
        ...relayDeps(this.clock, this),
        anonymousHttp: { send: (request) => this.#anonymous(request), close: () => {} },
        client: { create } as unknown as Client,
      },
      {
        resources: [mapKind],
        views: [],
        consistency: "verify",
        limits: { ...relayLimits, flushMs: 0 },
      },
    );
  }

  send(request: ByteRequest): Promise<ByteResponse> {
    const { target } = request;
    const known =
      target === "/api/v1" ? () => jsonAnswer(200, { kind: "APIResourceList" }) : undefined;
    return this.#met(request.signal, target, known ?? (() => this.fake.send(request)));
  }

  close(): void {}

  #anonymous({ signal, target }: ByteRequest): Promise<ByteResponse> {
    const well = (): ByteResponse => wholeAnswer(target === "/readyz" ? 200 : 403);
    // Whether it takes anonymous requests is in its flags: it knows that from its start.
    const starts = this.outage?.readyz !== undefined && target !== "/readyz";
    return starts ? Promise.resolve(well()) : this.#met(signal, target, well);
  }

  #met(
    signal: AbortSignal | undefined,
    target: string,
    well: () => ByteResponse | Promise<ByteResponse>,
  ): Promise<ByteResponse> {
    if (this.outage === undefined) return Promise.resolve(well());
    const { meets, readyz } = this.outage;
    if (target === "/readyz" && readyz !== undefined) return Promise.resolve(wholeAnswer(readyz));
    if (typeof meets === "number") {
      return Promise.resolve(jsonAnswer(meets, { kind: "Status", code: meets }));
    }
    if (meets === "refused")
      return Promise.reject(new ByteTransportError("refused", "ECONNREFUSED"));
    if (meets === "reset") return Promise.reject(new ByteTransportError("reset", "ECONNRESET"));
    return this.#hang(signal);
  }

  /** Until the caller gives up, or the test ends the silence. */
  #hang(signal?: AbortSignal): Promise<never> {
    return new Promise((_, reject) => {
      const end = (): void => reject(new ByteTransportError("gave up", "ABORTED"));
      signal?.addEventListener("abort", end, { once: true });
      this.#hung.add(end);
    });
  }

  async #review({ spec }: AnyObject): Promise<unknown> {
    const { token } = spec as { readonly token?: string };
    const yes =
      token === undefined
        ? { allowed: !this.denied }
        : { authenticated: true, user: { username: "ann", groups: [] } };
    if (this.holds) await this.#hang();
    const response = await this.#met(undefined, "", () => jsonAnswer(201, { status: yes }));
    const body = await response.read(1_000);
    if (response.status >= 400) throw apiErrorOf(response.status, {}, undefined);
    return JSON.parse(Buffer.from(body as Uint8Array).toString());
  }

  begin(target: string, { peer, headers }: Caller): Promise<PlainResponse> {
    const request = plainGet(target, { accept: "application/json", ...headers });
    return this.relay.handler({ ...request, peer });
  }

  /** 0: not answered in this time. A question waits a second for its answer, one of the newest state five. */
  async ask(target: string, caller: Caller, withinMs = 8_000): Promise<number> {
    const answer = this.begin(target, caller);
    await this.clock.advance(withinMs);
    const response = await Promise.race([answer, Promise.resolve(undefined)]);
    if (response?.kind === "stream") response.open(new Watching())();
    return response?.status ?? 0;
  }

  async allowAll(caller: Caller): Promise<void> {
    await this.clock.advance(100);
    for (const target of reads) assert.equal(await this.ask(target, caller, 200), 200, target);
  }

  /** It goes: open streams end, except where nothing says so, and so do questions under way. */
  async go(outage: Outage): Promise<void> {
    this.outage = outage;
    if (outage.meets !== "silent") this.fake.cut(maps);
    this.#release();
    await this.clock.advance(0);
  }

  back(): void {
    this.outage = undefined;
    this.#release();
  }

  async stop(): Promise<void> {
    const stopped = this.relay.stop();
    this.fake.close();
    this.#release();
    await this.clock.advance(100_000);
    this.#release();
    await stopped;
  }

  #release(): void {
    this.holds = false;
    for (const end of this.#hung) end();
    this.#hung.clear();
  }
}

void describe("an upstream that goes, for who was allowed to read", () => {
  for (const [how, outage] of Object.entries(outages)) {
    for (const { name, idleMs, asking } of moments) {
      void it(`${how}: ${name}`, async () => {
        for (const [who, caller] of Object.entries(callers)) {
          const world = new World();
          await world.allowAll(caller);
          if (asking) {
            await world.clock.advance(idleMs);
            world.holds = true;
            const answer = world.begin(mirrored, caller);
            await world.clock.advance(0);
            await world.go(outage);
            await world.clock.advance(2_000);
            assert.equal((await answer).status, 200, `${who}: the one on its way`);
          } else {
            await world.go(outage);
            await world.clock.advance(idleMs);
          }
          for (const target of reads) {
            assert.equal(await world.ask(target, caller), 200, `${who}: ${target}`);
          }
          assert.notEqual(await world.ask(mirrored, stranger), 200, "nobody is allowed anew");
          await world.stop();
        }
      });
    }
  }

  void it("is obeyed when it is ready, and refuses the relay itself", async () => {
    for (const meets of [401, 403]) {
      const world = new World();
      await world.allowAll(certificate);
      await world.go({ meets, readyz: 200 });
      await world.clock.advance(relayLimits.allowedMs + 1);
      assert.equal(await world.ask(mirrored, certificate), 503);
      await world.stop();
    }
  });

  void it("is obeyed once it is back, and takes a right away", async () => {
    for (const outage of Object.values(outages)) {
      const world = new World();
      await world.allowAll(certificate);
      await world.go(outage);
      await world.clock.advance(relayLimits.allowedMs + 1);
      assert.equal(await world.ask(mirrored, certificate), 200);
      world.back();
      world.denied = true;
      await world.clock.advance(1_000);
      assert.equal(await world.ask(mirrored, certificate), 403);
      await world.stop();
    }
  });
});
