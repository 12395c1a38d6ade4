/** What the parts of the webhook plugins promise, without a network. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AdmissionRequest } from "#admission/admission.ts";
import { createAdmission } from "#admission/chain.ts";
import { FakeLookup, fakeRequest, outcome } from "#admission/testing.ts";
import type { AnyObject } from "#api/object.ts";
import { builtinResources, resourceByPath } from "#api/schema/resources.ts";
import { ResourceCatalog } from "#apiserver/catalog.ts";
import { must } from "#base/assert.ts";
import type { ByteRequest, ByteResponse, HostsTransport } from "#platform/byte-transport.ts";
import { silentLog } from "#platform/log.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { MetricSet } from "#metrics/metric-set.ts";
import type { ConditionEvaluator } from "../matching/conditions.ts";
import { createWebhooks, type WebhooksDeps } from "./plugins.ts";

type Send = (request: ByteRequest) => Promise<ByteResponse>;

interface Rig {
  readonly admission: ReturnType<typeof createAdmission>;
  readonly clock: FakeClock;
  readonly metrics: MetricSet;
}

const never = (): Promise<ByteResponse> => Promise.reject(new Error("a call that must not be"));

function rig(
  send: Send,
  configurations: readonly AnyObject[],
  more: Partial<WebhooksDeps> = {},
  callsMax = 2,
): Rig {
  const clock = new FakeClock();
  const metrics = new MetricSet();
  const transport: HostsTransport = {
    send: (_host, request) => send(request),
    resolve: () => Promise.resolve([]),
    close: () => {},
  };
  const webhooks = createWebhooks(
    {
      clock,
      random: new FakeRandom(3),
      log: silentLog,
      lookup: new FakeLookup(...configurations),
      metrics,
      versions: { mutating: () => 1, validating: () => 1 },
      services: { resolve: () => ({ address: "10.0.0.1", port: 443 }) },
      open: () => transport,
      ...more,
    },
    { callsMax, waitingMax: 1, answerBytesMax: 1024 },
  );
  webhooks.serve(new ResourceCatalog({ store: never } as never, builtinResources()));
  const plugins = [webhooks.mutating, webhooks.conditions, webhooks.validating];
  return { admission: createAdmission(plugins), clock, metrics };
}

function hook(name: string, more: object = {}): AnyObject {
  const rules = [
    { operations: ["*"], apiGroups: [""], apiVersions: ["v1"], resources: ["bindings", "pods/*"] },
  ];
  const clientConfig = { url: "https://hooks.example.com/x" };
  const fields = { clientConfig, rules, sideEffects: "None", admissionReviewVersions: ["v1"] };
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name },
    webhooks: [{ name: `${name}.example.com`, ...fields, ...more }],
  };
}

/** Served without a store, so that no registry is needed. */
function request(over: Partial<AdmissionRequest> = {}): AdmissionRequest {
  const info = must(resourceByPath("", "v1", "bindings"), "bindings are built in");
  const object = { apiVersion: "v1", kind: "Binding", metadata: { name: "b", namespace: "ns" } };
  return { ...fakeRequest(object), info, ...over };
}

function answer(request: ByteRequest): ByteResponse {
  const { request: asked } = JSON.parse(new TextDecoder().decode(request.body)) as {
    request: { uid: string };
  };
  const type = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" };
  const text = JSON.stringify({ ...type, response: { uid: asked.uid, allowed: true } });
  return {
    status: 200,
    headers: {},
    read: () => Promise.resolve(new TextEncoder().encode(text)),
    stream: () => Promise.resolve(),
  };
}

test("the objects of a request become JSON once, whatever the number of webhooks", async () => {
  let encoded = 0;
  const object = { ...request().object, toJSON: () => (encoded++, { name: "seen" }) };
  let calls = 0;
  const { admission } = rig(
    (sent) => {
      calls++;
      return Promise.resolve(answer(sent));
    },
    ["a", "b", "c"].map((name) => hook(name)),
  );
  await admission.validate(request({ object }));
  assert.deepEqual([calls, encoded], [3, 1]);
});

test("a bug is not a webhook's failure: it does not fail open", async () => {
  const broken = (): Promise<ByteResponse> => Promise.reject(new TypeError("a bug"));
  const { admission } = rig(broken, [hook("open", { failurePolicy: "Ignore" })]);
  await assert.rejects(admission.validate(request()), /a bug/);
});

test("calls beyond the limit of one webhook wait for a seat, and beyond that fail", async () => {
  const open: (() => void)[] = [];
  let isBusy = true;
  const { admission } = rig(
    (sent) =>
      isBusy
        ? new Promise((resolve) => open.push(() => resolve(answer(sent))))
        : Promise.resolve(answer(sent)),
    [hook("busy")],
  );
  const all = [1, 2, 3].map(() => outcome(() => admission.validate(request())));
  const fourth = await outcome(() => admission.validate(request()));
  assert.match(fourth, /^500 .*2 calls are under way and 1 wait$/);
  assert.equal(open.length, 2);
  isBusy = false;
  for (const answered of open) answered();
  assert.deepEqual(await Promise.all(all), ["admitted", "admitted", "admitted"]);
});

test("a call ends by the webhook's timeout or with its client, and both are told apart", async () => {
  const waiting: Send = ({ signal }) =>
    new Promise((_resolve, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason as Error)),
    );
  const { admission, clock } = rig(waiting, [hook("slow", { timeoutSeconds: 3 })]);
  const late = outcome(() => admission.validate(request()));
  await clock.advance(3_000);
  assert.match(await late, /\?timeout=3s": context deadline exceeded$/);
  const client = new AbortController();
  const left = outcome(() => admission.validate(request({ ending: client })));
  client.abort();
  assert.match(await left, /context canceled$/);
});

test("a webhook is told when its request ends, where that is before its own timeout", async () => {
  const targets: string[] = [];
  const send: Send = (asked) => {
    targets.push(asked.target);
    return Promise.resolve(answer(asked));
  };
  const { admission, clock } = rig(send, [hook("a.example.com", { timeoutSeconds: 20 })]);
  const { signal } = new AbortController();
  for (const leftMs of [9_200, 30_000, -5]) {
    const deadlineMs = clock.monotonicMs() + leftMs;
    await admission.validate(request({ ending: { signal, deadlineMs } }));
  }
  await admission.validate(request({ ending: { signal } }));
  assert.deepEqual(
    targets.map((target) => /timeout=\d+s/.exec(target)?.[0]),
    ["timeout=10s", "timeout=20s", "timeout=1s", "timeout=20s"],
  );
});

test("a dry run is refused where a webhook has side effects, whatever its failurePolicy", async () => {
  const effects = { sideEffects: "Some", failurePolicy: "Ignore" };
  const { admission } = rig(never, [hook("acts", effects)]);
  assert.equal(
    await outcome(() => admission.validate(request({ dryRun: true }))),
    '400 admission webhook "acts.example.com" does not support dry run',
  );
});

const evaluator: ConditionEvaluator = {
  errors: (lists) =>
    lists.map(([first]) =>
      first?.expression === "(" ? [{ index: 0, message: "compilation failed" }] : [],
    ),
  open: ([first]) => ({
    evaluate: ({ object }) =>
      first?.expression === "fails"
        ? { kind: "error", message: "no such key" }
        : { kind: object?.metadata?.name === "b" ? "match" : "no-match" },
  }),
};

test("conditions decide whether a webhook is asked; one that fails does as failurePolicy says", async () => {
  const conditional = (expression: string, failurePolicy = "Ignore"): AnyObject =>
    hook("c", { matchConditions: [{ name: "x", expression }], failurePolicy });
  let calls = 0;
  const counting: Send = (sent) => {
    calls++;
    return Promise.resolve(answer(sent));
  };
  const { admission } = rig(counting, [conditional("name")], { evaluator });
  await admission.validate(request());
  const other = { apiVersion: "v1", kind: "Binding", metadata: { name: "other" } };
  await admission.validate(request({ object: other }));
  assert.equal(calls, 1);
  const ignored = rig(never, [conditional("fails")], { evaluator });
  await ignored.admission.validate(request());
  const failing = rig(never, [conditional("fails", "Fail")], { evaluator });
  assert.equal(
    await outcome(() => failing.admission.validate(request())),
    '403 bindings "b" is forbidden: no such key',
  );
});

test("conditions that do not compile are refused when they are written", async () => {
  const { admission } = rig(never, [], { evaluator });
  const info = must(
    resourceByPath("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations"),
    "built in",
  );
  const object = hook("c", { matchConditions: [{ name: "x", expression: "(" }] });
  assert.match(
    await outcome(() => admission.validate({ ...fakeRequest(object), info })),
    /^422 .*webhooks\[0\]\.matchConditions\[0\]\.expression: Invalid value: "\(": compilation failed$/,
  );
});

test("metrics have upstream's names and labels", async () => {
  const { admission, metrics } = rig((sent) => Promise.resolve(answer(sent)), [hook("m")]);
  await admission.validate(request());
  assert.match(
    metrics.text(),
    /apiserver_admission_webhook_request_total\{name="m\.example\.com",type="validating",operation="CREATE",code="200",rejected="false"\} 1/,
  );
});
