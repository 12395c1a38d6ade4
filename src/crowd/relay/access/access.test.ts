/** What the relay asks its upstream about people, and what it does when the asking fails. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "#api/status.ts";
import type { Client } from "#client/client.ts";
import { ByteTransportError } from "#platform/byte-transport.ts";
import type { PlainRequest } from "#platform/http.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { Access } from "./access.ts";
import { relayLimits } from "../limits.ts";

const question = {
  verb: "list",
  group: "",
  version: "v1",
  resource: "pods",
  subresource: "",
  namespace: "",
  name: "",
};
const ann = { name: "ann", groups: [] };

/** Answers of the upstream to reviews, in turn; the last one goes on. */
function accessTo(answers: readonly (Error | object)[]) {
  let asked = 0;
  const create = (): Promise<unknown> => {
    const answer = answers[Math.min(asked++, answers.length - 1)];
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve({ status: answer });
  };
  const access = new Access(
    {
      clock: new FakeClock(),
      client: { create } as unknown as Client,
      // Not asked: every request here has a token.
      anonymousHttp: { send: () => Promise.reject(new Error("not asked")), close: () => {} },
      peers: { authenticate: () => Promise.resolve({ kind: "none" }) },
    },
    relayLimits,
  );
  return { access, asked: () => asked };
}

function withToken(token: string): PlainRequest {
  return {
    method: "GET",
    path: "/api/v1/pods",
    query: "",
    body: { kind: "none" },
    headers: { authorization: `Bearer ${token}` },
    peer: { kind: "socket", address: "127.0.0.1" },
    signal: new AbortController().signal,
  };
}

void test("a review on a kept connection that the upstream had closed is sent once more", async () => {
  for (const code of ["ECONNRESET", "EPIPE"]) {
    const cut = new ByteTransportError("socket hang up", code);
    const { access, asked } = accessTo([cut, { allowed: true }]);
    await access.authorize(ann, question);
    assert.equal(asked(), 2);
    const tokens = accessTo([cut, { authenticated: true, user: { username: "ann" } }]);
    assert.equal((await tokens.access.identify(withToken("t"))).name, "ann");
  }
});

void test("an upstream that cannot be reached is asked once, and nobody new is let in", async () => {
  const refused = new ByteTransportError("connection refused", "ECONNREFUSED");
  const { access, asked } = accessTo([refused]);
  await assert.rejects(
    access.authorize(ann, question),
    (error) => error instanceof ApiError && error.code === 503,
  );
  assert.equal(asked(), 1);
});
