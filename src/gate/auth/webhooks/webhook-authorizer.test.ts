/** Authorization by a webhook: what it is asked, what is remembered, and what a webhook that fails or lies decides. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#platform/testing/clock.ts";
import { silentLog } from "#platform/log.ts";
import type { Decision } from "../auth.ts";
import { attributes } from "../testing.ts";
import { compileCondition } from "./access-review.ts";
import { ReviewClient, type SendReview } from "./review-client.ts";
import { WebhookAuthorizer, type WebhookAuthorizerOptions } from "./webhook-authorizer.ts";

const jane = { name: "jane", groups: ["dev"], uid: "7", extra: { "a.b/c": ["d"] } };
const pods = attributes(jane);

function setup(send: SendReview, options: Partial<WebhookAuthorizerOptions> = {}) {
  const clock = new FakeClock();
  const asked: unknown[] = [];
  const seen: string[] = [];
  const recording: SendReview = (body, signal) => {
    asked.push(JSON.parse(new TextDecoder().decode(body)));
    return send(body, signal);
  };
  const client = new ReviewClient({ clock, send: recording }, { timeoutMs: 3_000 });
  const observer = {
    evaluated: (name: string, result: string) => void seen.push(`${name} ${result}`),
    failedOpen: (name: string, result: string) => void seen.push(`${name} open ${result}`),
    matched: (name: string, outcome: string) => void seen.push(`${name} ${outcome}`),
  };
  const authorizer = new WebhookAuthorizer(
    { clock, log: silentLog, client, observer },
    {
      name: "w",
      version: "v1",
      authorizedTtlMs: 300_000,
      unauthorizedTtlMs: 30_000,
      failurePolicy: "NoOpinion",
      conditions: [],
      ...options,
    },
  );
  const ask = async (of = pods): Promise<Decision> => authorizer.authorize(of);
  return { clock, asked, seen, authorizer, ask };
}

const saying =
  (status: unknown, code = 200): SendReview =>
  () =>
    Promise.resolve({ status: code, value: { status } });

function conditions(...texts: readonly string[]): WebhookAuthorizerOptions["conditions"] {
  return texts.map((text) => {
    const compiled = compileCondition(text);
    assert.ok(typeof compiled !== "string", text);
    return compiled;
  });
}

test("the review is that of a stock API server, in both versions", async () => {
  const v1 = setup(saying({ allowed: true }));
  await v1.ask();
  const resourceAttributes = {
    namespace: "ns",
    verb: "get",
    version: "v1",
    resource: "pods",
    name: "p",
  };
  const spec = { resourceAttributes, user: "jane", extra: { "a.b/c": ["d"] }, uid: "7" };
  const review = { kind: "SubjectAccessReview", metadata: {}, status: { allowed: false } };
  assert.deepEqual(v1.asked, [
    { ...review, apiVersion: "authorization.k8s.io/v1", spec: { ...spec, groups: ["dev"] } },
  ]);
  const v1beta1 = setup(saying({ allowed: true }), { version: "v1beta1" });
  await v1beta1.ask();
  assert.deepEqual(v1beta1.asked, [
    { ...review, apiVersion: "authorization.k8s.io/v1beta1", spec: { ...spec, group: ["dev"] } },
  ]);
});

test("paths, and the selector of a list, are asked about", async () => {
  const { ask, asked } = setup(saying({ allowed: true }));
  const bare = { name: "jane", groups: [] };
  await ask(attributes(bare, { isResourceRequest: false, path: "/metrics" }));
  const requirements = [{ field: "spec.nodeName", operator: "=", value: "n" }] as const;
  await ask(attributes(bare, { verb: "list", name: "", fieldSelector: { requirements } }));
  const specs = asked.map((review) => (review as { readonly spec: unknown }).spec);
  assert.deepEqual(specs, [
    { nonResourceAttributes: { path: "/metrics", verb: "get" }, user: "jane" },
    {
      resourceAttributes: {
        namespace: "ns",
        verb: "list",
        version: "v1",
        resource: "pods",
        fieldSelector: {
          requirements: [{ key: "spec.nodeName", operator: "In", values: ["n"] }],
        },
      },
      user: "jane",
    },
  ]);
});

test("allowed, denied, neither and both", async () => {
  const cases: readonly (readonly [object, Decision])[] = [
    [
      { allowed: true, reason: "a" },
      { allowed: true, denied: false, reason: "a" },
    ],
    [
      { denied: true, reason: "b" },
      { allowed: false, denied: true, reason: "b" },
    ],
    [{ reason: "c" }, { allowed: false, denied: false, reason: "c" }],
    [
      { allowed: true, denied: true },
      {
        allowed: false,
        denied: true,
        reason: "",
        error: "webhook subject access review returned both allow and deny response",
      },
    ],
  ];
  for (const [status, decision] of cases) {
    assert.deepEqual(await setup(saying(status)).ask(), decision);
  }
});

test("answers are remembered for the time of their kind, and equal questions at one time are one", async () => {
  for (const [status, ttlMs] of [
    [{ allowed: true }, 300_000],
    [{ denied: true }, 30_000],
  ] as const) {
    const { ask, asked, clock, authorizer } = setup(saying(status));
    await Promise.all([ask(), ask(), ask()]);
    assert.equal(asked.length, 1);
    clock.tick(ttlMs - 1);
    assert.ok(!(authorizer.authorize(pods) instanceof Promise), "at once from memory");
    clock.tick(1);
    await ask();
    assert.equal(asked.length, 2);
  }
  const { ask, asked } = setup(saying({ allowed: true }), { authorizedTtlMs: 0 });
  await ask();
  await ask();
  assert.equal(asked.length, 2, "zero remembers nothing");
});

test("a question whose asker made it long is not remembered", async () => {
  const { ask, asked } = setup(saying({ allowed: true }));
  const long = attributes(jane, { name: "x".repeat(10_000) });
  await ask(long);
  await ask(long);
  assert.equal(asked.length, 2);
});

/** What is no answer, and the error it makes. */
const lies: readonly (readonly [what: string, send: SendReview, error: string])[] = [
  [
    "no JSON",
    () => Promise.resolve({ status: 200, value: undefined }),
    "the answer is no review with a status",
  ],
  [
    "no status",
    () => Promise.resolve({ status: 200, value: {} }),
    "the answer is no review with a status",
  ],
  [
    "a text for yes",
    saying({ allowed: "true" }),
    "the status of the review has fields of another type",
  ],
  ["403", saying({ allowed: true }, 403), "the server answered 403"],
  ["a redirect", saying({ allowed: true }, 302), "the server answered 302"],
  [
    "too much",
    () => Promise.reject(new Error("the answer has more than 1048576 bytes")),
    "the answer has more than 1048576 bytes",
  ],
  ["nobody", () => Promise.reject(new Error("connect ECONNREFUSED")), "connect ECONNREFUSED"],
];

for (const [what, send, error] of lies) {
  test(`a webhook that answers ${what} never allows`, async () => {
    const open = setup(send);
    assert.deepEqual(await open.ask(), { allowed: false, denied: false, reason: "", error });
    assert.deepEqual(open.seen, ["w error", "w open error"]);
    const closed = setup(send, { failurePolicy: "Deny" });
    assert.deepEqual(await closed.ask(), { allowed: false, denied: true, reason: "", error });
    assert.deepEqual(closed.seen, ["w error"]);
    await open.ask();
    assert.equal(open.asked.length, 2, "a failure is not remembered");
  });
}

test("a webhook that never answers is given up at its timeout", async () => {
  const hang: SendReview = (_body, signal) =>
    new Promise((_resolve, reject) =>
      signal.addEventListener("abort", () => reject(new Error("aborted"))),
    );
  const { ask, clock, seen } = setup(hang);
  const answer = ask();
  await clock.advance(3_000);
  const error = "context deadline exceeded";
  assert.deepEqual(await answer, { allowed: false, denied: false, reason: "", error });
  assert.deepEqual(seen, ["w timeout", "w open timeout"]);
});

test("a busy webhook is asked again five times, half a second apart and more", async () => {
  let busy = 4;
  const send: SendReview = () =>
    Promise.resolve(
      busy-- > 0
        ? { status: 503 - 3, value: {} }
        : { status: 200, value: { status: { allowed: true } } },
    );
  const { ask, asked, clock } = setup(send);
  const answer = ask();
  await clock.advance(500);
  assert.equal(asked.length, 2);
  await clock.advance(10_000);
  assert.equal((await answer).allowed, true);
  busy = 100;
  const never = setup(send);
  const refused = never.ask();
  await never.clock.advance(10_000);
  assert.equal((await refused).error, "the server answered 500");
  assert.equal(never.asked.length, 5);
});

test("a flood of questions to a slow webhook is refused beyond a bound", async () => {
  const { ask, asked } = setup(() => new Promise(() => {}));
  for (let at = 0; at < 512; at++) void ask(attributes(jane, { name: `p${at}` }));
  const last = await ask(attributes(jane, { name: "last" }));
  assert.equal(last.error, "too many reviews are in flight");
  assert.equal(asked.length, 512);
});

test("conditions choose which questions the webhook sees", async () => {
  const chosen = conditions(
    "has(request.resourceAttributes)",
    "request.resourceAttributes.namespace == 'ns'",
    "!('system:nodes' in request.groups)",
  );
  const { ask, asked, seen } = setup(saying({ allowed: true }), { conditions: chosen });
  assert.equal((await ask()).allowed, true);
  const elsewhere = await ask(attributes(jane, { namespace: "other" }));
  assert.deepEqual(elsewhere, { allowed: false, denied: false, reason: "" });
  const path = await ask(attributes(jane, { isResourceRequest: false, path: "/x" }));
  assert.deepEqual(path, { allowed: false, denied: false, reason: "" });
  assert.equal(asked.length, 1);
  assert.deepEqual(seen, ["w match", "w success", "w no-match", "w no-match"]);
});

test("a condition that fails decides as a webhook that fails, unless another is false", async () => {
  const failing = "request.extra['none'][0] == 'a'";
  const error = `cel evaluation error: expression '${failing}' resulted in error: no such key: none`;
  for (const [failurePolicy, denied] of [
    ["Deny", true],
    ["NoOpinion", false],
  ] as const) {
    const options = { conditions: conditions(failing), failurePolicy };
    const { ask, asked } = setup(saying({ allowed: true }), options);
    assert.deepEqual(await ask(), { allowed: false, denied, reason: "", error });
    assert.equal(asked.length, 0);
  }
  const both = conditions(failing, "request.user == 'nobody'");
  const { ask } = setup(saying({ allowed: true }), { conditions: both, failurePolicy: "Deny" });
  assert.deepEqual(await ask(), { allowed: false, denied: false, reason: "" });
});
