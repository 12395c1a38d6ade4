/**
 * Measures the cost of webhooks per request: of those that do not match, and of one that does, without its round trip.
 * It measures CPU time and takes the minimum of several runs, so that other work on the machine does not count.
 */
import { createAdmission } from "#admission/chain.ts";
import { FakeLookup, fakeRequest } from "#admission/testing.ts";
import type { AnyObject } from "#api/object.ts";
import { builtinResources, resourceByPath } from "#api/schema/resources.ts";
import { ResourceCatalog } from "#apiserver/catalog.ts";
import { must } from "#base/assert.ts";
import type { ByteRequest, ByteResponse } from "#platform/byte-transport.ts";
import { silentLog } from "#platform/log.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { MetricSet } from "#metrics/metric-set.ts";
import { createWebhooks } from "./plugins.ts";

const encoder = new TextEncoder();

/** Answers with the uid of the review, with the least possible work. */
function answer({ body }: ByteRequest): ByteResponse {
  const uid = new TextDecoder().decode(body?.subarray(0, 160)).split('"uid":"')[1]?.slice(0, 36);
  const text = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"${uid}","allowed":true}}`;
  const read = (): Promise<Uint8Array> => Promise.resolve(encoder.encode(text));
  return { status: 200, headers: {}, read, stream: () => Promise.resolve() };
}

function admissionOf(configurations: readonly AnyObject[]) {
  const webhooks = createWebhooks(
    {
      clock: new FakeClock(),
      random: new FakeRandom(3),
      log: silentLog,
      lookup: new FakeLookup(...configurations),
      metrics: new MetricSet(),
      versions: { mutating: () => 1, validating: () => 1 },
      services: { resolve: () => ({ address: "10.0.0.1", port: 443 }) },
      open: () => ({
        send: (_host, request) => Promise.resolve(answer(request)),
        resolve: () => Promise.resolve([]),
        close: () => {},
      }),
    },
    { callsMax: 256, waitingMax: 1_024, answerBytesMax: 3 * 2 ** 20 },
  );
  webhooks.serve(new ResourceCatalog({ store: () => ({}) } as never, builtinResources()));
  return createAdmission([webhooks.mutating, webhooks.conditions, webhooks.validating]);
}

function configurations(count: number, resource: string): readonly AnyObject[] {
  const rule = { operations: ["*"], apiGroups: [""], apiVersions: ["v1"], resources: [resource] };
  return Array.from({ length: count }, (_, at) =>
    ["Mutating", "Validating"].map((type) => ({
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: `${type}WebhookConfiguration`,
      metadata: { name: `c-${at}` },
      webhooks: [
        {
          name: `c-${at}.example.com`,
          clientConfig: { url: "https://hooks.example.com/x" },
          rules: [rule],
          sideEffects: "None",
          admissionReviewVersions: ["v1"],
        },
      ],
    })),
  ).flat();
}

async function measure(name: string, given: readonly AnyObject[], rounds: number): Promise<number> {
  const admission = admissionOf(given);
  const info = must(resourceByPath("", "v1", "configmaps"), "built in");
  const data = { text: "x".repeat(2_048) };
  const metadata = { name: "m", namespace: "ns" };
  const request = {
    ...fakeRequest({ apiVersion: "v1", kind: "ConfigMap", metadata, data }),
    info,
  };
  const run = async (count: number): Promise<void> => {
    for (let at = 0; at < count; at++) {
      await admission.mutate(request);
      await admission.validate(request);
    }
  };
  await run(rounds / 4);
  let each = Infinity;
  for (let at = 0; at < 7; at++) {
    const before = process.cpuUsage();
    await run(rounds);
    const { user, system } = process.cpuUsage(before);
    each = Math.min(each, (user + system) / rounds);
  }
  process.stdout.write(`${name}: ${each.toFixed(1)} us of CPU a request\n`);
  return each;
}

const none = await measure("no configuration", [], 100_000);
const others = await measure(
  "50 of each type that do not match",
  configurations(50, "secrets"),
  100_000,
);
const one = await measure("one of each type that matches", configurations(1, "configmaps"), 5_000);
process.stdout.write(
  `added by those that do not match: ${(others - none).toFixed(1)} us; by a matching one: ${((one - none) / 2).toFixed(1)} us\n`,
);
