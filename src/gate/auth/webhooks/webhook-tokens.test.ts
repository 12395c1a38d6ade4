/** Tokens by a webhook: what it is asked, for whom an answer is good, and what a webhook that fails or lies says. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "#platform/log.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import type { TokenResult } from "../auth.ts";
import { ReviewClient, type SendReview } from "./review-client.ts";
import { WebhookTokens } from "./webhook-tokens.ts";

function setup(send: SendReview, { cacheTtlMs = 120_000 } = {}) {
  const clock = new FakeClock();
  const asked: unknown[] = [];
  const seen: string[] = [];
  const recording: SendReview = (body, signal) => {
    asked.push(JSON.parse(new TextDecoder().decode(body)));
    return send(body, signal);
  };
  const client = new ReviewClient({ clock, send: recording }, { timeoutMs: 3_000 });
  const observer = {
    requested: (status: string) => void seen.push(status),
    fetching: () => (status: string) => void seen.push(status),
  };
  const deps = { clock, log: silentLog, client, observer };
  const tokens = new WebhookTokens(deps, { version: "v1", cacheTtlMs, apiAudiences: ["api", "b"] });
  const ask = async (token: string, audiences: readonly string[] = []): Promise<TokenResult> =>
    tokens.authenticateToken(token, audiences);
  return { clock, asked, seen, ask };
}

const saying =
  (status: unknown): SendReview =>
  () =>
    Promise.resolve({ status: 200, value: { status } });

const jane = { username: "jane", uid: "7", groups: ["g"], extra: { "a.b/c": ["d"] } };
const isJane = {
  name: "jane",
  uid: "7",
  groups: ["g", "system:authenticated"],
  extra: { "a.b/c": ["d"] },
};

test("a user of the webhook is good for the audiences that both know", async () => {
  const yes = { authenticated: true, user: jane };
  const { ask, asked } = setup(saying(yes));
  assert.deepEqual(await ask("t"), { kind: "user", user: isJane, audiences: ["api", "b"] });
  assert.deepEqual(asked, [
    {
      kind: "TokenReview",
      apiVersion: "authentication.k8s.io/v1",
      metadata: {},
      spec: { token: "t", audiences: ["api", "b"] },
      status: { user: {} },
    },
  ]);
  assert.deepEqual(await ask("t", ["vault"]), { kind: "none" }, "it named no audience");
  const vault = setup(saying({ ...yes, audiences: ["vault"] }));
  const good = { kind: "user", user: isJane, audiences: ["vault"] };
  assert.deepEqual(await vault.ask("t", ["vault", "api"]), good);
  assert.deepEqual(await vault.ask("t"), { kind: "none" }, "a token for others");
});

test("answers are remembered by token and audiences, and equal questions at one time are one", async () => {
  const { ask, asked, clock, seen } = setup(saying({ authenticated: true, user: jane }));
  await Promise.all([ask("t"), ask("t"), ask("t")]);
  await ask("t");
  assert.equal(asked.length, 1);
  assert.deepEqual(seen, ["ok", "miss", "miss", "miss", "hit"]);
  await ask("t", ["b"]);
  await ask("u");
  assert.equal(asked.length, 3);
  clock.tick(120_000);
  await ask("t");
  assert.equal(asked.length, 4);
  const never = setup(saying({ authenticated: false }), { cacheTtlMs: 0 });
  assert.deepEqual(await never.ask("t"), { kind: "none" });
  await never.ask("t");
  assert.equal(never.asked.length, 2);
});

const odd = "the status of the review has fields of another type";
const lies: readonly (readonly [what: string, status: unknown, message: string])[] = [
  ["an error", { authenticated: false, error: "who?" }, "who?"],
  ["a text for yes", { authenticated: "true", user: jane }, odd],
  ["no user", { authenticated: true }, odd],
  ["no name", { authenticated: true, user: {} }, odd],
  [
    "an empty name",
    { authenticated: true, user: { username: "" } },
    "the user of the review has no name",
  ],
  ["a group that is no text", { authenticated: true, user: { ...jane, groups: [1] } }, odd],
  ["groups that are no list", { authenticated: true, user: { ...jane, groups: "g" } }, odd],
  ["extra that is no list", { authenticated: true, user: { ...jane, extra: { a: "b" } } }, odd],
  ["audiences that are no list", { authenticated: true, user: jane, audiences: "api" }, odd],
];

for (const [what, status, message] of lies) {
  test(`a webhook that answers with ${what} names nobody, and is asked again`, async () => {
    const { ask, asked } = setup(saying(status));
    assert.deepEqual(await ask("t"), { kind: "rejected", message });
    await ask("t");
    assert.equal(asked.length, 2);
  });
}

test("a webhook that never answers is given up at its timeout", async () => {
  const hang: SendReview = (_body, signal) =>
    new Promise((_resolve, reject) =>
      signal.addEventListener("abort", () => reject(new Error("aborted"))),
    );
  const { ask, clock, seen } = setup(hang);
  const answer = ask("t");
  await clock.advance(3_000);
  assert.deepEqual(await answer, { kind: "rejected", message: "context deadline exceeded" });
  assert.deepEqual(seen, ["error", "miss"]);
});

test("a token of any length is nobody's, and is not sent", async () => {
  const { ask, asked } = setup(saying({ authenticated: true, user: jane }));
  assert.deepEqual(await ask("x".repeat(65_537)), { kind: "none" });
  assert.equal(asked.length, 0);
});
