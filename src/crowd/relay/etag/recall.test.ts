/** Which callers are remembered from one poll to the next, and for how long. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Client } from "#client/client.ts";
import type { Peer, PlainRequest, UserInfo } from "#platform/http.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { Access, type PeerIdentity } from "../access/access.ts";
import type { Question } from "../access/question.ts";
import { relayLimits } from "../limits.ts";
import { FakeUpstream } from "../testing/fake-upstream.ts";
import { relayDeps } from "../testing/relay-fixture.ts";

const question: Question = {
  verb: "list",
  group: "",
  version: "v1",
  resource: "pods",
  subresource: "",
  namespace: "",
  name: "",
};
const socket = { kind: "socket", address: "10.0.0.1:1" } as const;
const certified: Peer = { ...socket, certificate: new Uint8Array([1]) };

/** An upstream that says yes to all, and a certificate that lasts until it does not. */
class World {
  certificateLasts = true;
  allowed = true;
  readonly clock = new FakeClock();
  readonly #access: Access;

  constructor(peers?: PeerIdentity) {
    const create = (_ref: unknown, _namespace: unknown, asked: unknown): Promise<unknown> => {
      const { token } = (asked as { readonly spec: { readonly token?: string } }).spec;
      const user = { username: `of-${String(token)}` };
      const status =
        token === undefined ? { allowed: this.allowed } : { authenticated: true, user };
      return Promise.resolve({ status });
    };
    const client = { create } as unknown as Client;
    this.#access = new Access(
      { ...relayDeps(this.clock, new FakeUpstream()), client, peers: peers ?? this.#peers },
      relayLimits,
    );
  }

  readonly #peers: PeerIdentity = {
    authenticate: ({ peer }) => {
      const user = { name: "ann", groups: [] };
      const has = peer.kind === "socket" && peer.certificate !== undefined;
      return Promise.resolve(has ? { kind: "user", user } : { kind: "none" });
    },
    recall: ({ peer }) =>
      peer.kind === "socket" && peer.certificate !== undefined
        ? () => this.certificateLasts
        : undefined,
  };

  /** A poll the usual way; then whether it would be answered again. */
  async poll(peer: Peer, headers: Record<string, string> = {}): Promise<() => boolean> {
    const request = { peer, headers } as unknown as PlainRequest;
    const user: UserInfo = await this.#access.identify(request);
    await this.#access.authorize(user, question);
    return this.#access.recall(request, user, [question]);
  }
}

void describe("a poll's caller is known again", () => {
  void it("by certificate, while it lasts and the right does", async () => {
    const world = new World();
    const again = await world.poll(certified);
    assert.ok(again());
    world.certificateLasts = false;
    assert.ok(!again(), "the certificate has run out");
    world.certificateLasts = true;
    assert.ok(again());
    await world.clock.advance(relayLimits.allowedMs);
    assert.ok(!again(), "what was allowed is asked again");
  });

  void it("by certificate before token, as it is identified", async () => {
    const world = new World();
    const again = await world.poll(certified, { authorization: "Bearer t" });
    assert.ok(again());
    world.certificateLasts = false;
    assert.ok(!again());
  });

  void it("by token, for as long as the upstream's answer counts", async () => {
    const world = new World();
    const again = await world.poll(socket, { authorization: "Bearer t" });
    assert.ok(again());
    await world.clock.advance(relayLimits.allowedMs);
    assert.ok(!again());
  });

  void it("as nobody in particular, while nobody may", async () => {
    const world = new World();
    const again = await world.poll(socket);
    assert.ok(again());
    world.allowed = false;
    await world.clock.advance(relayLimits.allowedMs);
    await assert.rejects(world.poll(socket), /forbidden/);
    assert.ok(!again());
  });

  void it("never when acting as another, nor by a certificate that cannot be told again", async () => {
    const world = new World();
    assert.ok(!(await world.poll(certified, { "impersonate-user": "x" }))());
    const authenticate = () =>
      Promise.resolve({ kind: "user", user: { name: "ann", groups: [] } } as const);
    assert.ok(!(await new World({ authenticate }).poll(certified))());
  });
});
