/** What a conversion webhook is asked, over a transport of the test and virtual time. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import type { ByteRequest, ByteResponse, HostsTransport } from "#platform/byte-transport.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import type { Converter } from "../definitions/conversion.ts";
import { asDefinition } from "../definitions/definition.ts";
import { MetricSet } from "#metrics/metric-set.ts";
import { cronTab, cronTabDefinition } from "../testing/plane.ts";
import { WebhookCaller } from "../webhooks/caller.ts";
import { ConversionMetrics } from "./metrics.ts";
import { webhookConverters } from "./webhook-converter.ts";

interface Review {
  readonly apiVersion: string;
  readonly request: {
    readonly uid: string;
    readonly desiredAPIVersion: string;
    readonly objects: readonly AnyObject[];
  };
}

type Answer = (review: Review) => object | "never";

const limits = { batchObjectsMax: 3, batchBytesMax: 10_000, batchesAtOnce: 2 };
const calls = { callsMax: 8, waitingMax: 8, answerBytesMax: 2 ** 20 };

function converter(
  answer: Answer,
  webhook: object = {},
): {
  readonly convert: Converter["convertMany"];
  readonly asked: Review[];
  readonly clock: FakeClock;
  readonly exposition: () => string;
} {
  const asked: Review[] = [];
  const clock = new FakeClock();
  const send = (_host: unknown, { body, signal }: ByteRequest): Promise<ByteResponse> => {
    const review = JSON.parse(Buffer.from(body as Uint8Array).toString()) as Review;
    asked.push(review);
    const said = answer(review);
    if (said === "never")
      return new Promise((_, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason as Error)),
      );
    const bytes = Buffer.from(JSON.stringify(said));
    const response = { status: 200, headers: {}, read: () => Promise.resolve(bytes) };
    return Promise.resolve(response as unknown as ByteResponse); // what the caller reads of one
  };
  const transport = { send, close: () => {} } as unknown as HostsTransport; // the same
  const services = { resolve: () => ({ address: "10.0.0.1", port: 443 }) };
  const caller = new WebhookCaller({ clock, services, open: () => transport }, calls);
  const clientConfig = { url: "https://hook.example.com/convert" };
  const conversion = {
    strategy: "Webhook",
    webhook: { clientConfig, conversionReviewVersions: ["v9", "v1"], ...webhook },
  };
  const definition = asDefinition(cronTabDefinition({}, { conversion }));
  const set = new MetricSet();
  const metrics = new ConversionMetrics(set);
  const deps = { caller, random: new FakeRandom(1), clock, metrics };
  const made = webhookConverters(deps, limits)(definition);
  assert.ok(made);
  const convert: Converter["convertMany"] = (objects, to) => made.convertMany(objects, to);
  return { convert, asked, clock, exposition: () => set.text() };
}

function good({ apiVersion, request }: Review): object {
  const { uid, objects, desiredAPIVersion } = request;
  const convertedObjects = objects.map((object) => ({ ...object, apiVersion: desiredAPIVersion }));
  const response = { uid, convertedObjects, result: { status: "Success" } };
  return { apiVersion, kind: "ConversionReview", response };
}

const to = "stable.example.com/v2";
const many = (count: number): AnyObject[] =>
  Array.from({ length: count }, (_, at) => cronTab(`o-${at}`));

describe("a conversion webhook", () => {
  test("is asked in batches, and objects keep their order", async () => {
    const { convert, asked } = converter(good);
    const made = await convert(many(8), to);
    assert.deepEqual(
      made.map(({ apiVersion, metadata }) => `${apiVersion} ${metadata?.name}`),
      many(8).map(({ metadata }) => `${to} ${metadata?.name}`),
    );
    assert.deepEqual(asked.map(({ request }) => request.objects.length).toSorted(), [2, 3, 3]);
    assert.equal(new Set(asked.map(({ request }) => request.uid)).size, 3);
  });

  test("gets large objects in batches of few bytes, and one too large for a batch alone", async () => {
    const { convert, asked } = converter(good);
    const large = (name: string, length: number) => cronTab(name, { cronSpec: "x".repeat(length) });
    await convert([large("a", 6_000), large("b", 6_000), large("c", 20_000), large("d", 1)], to);
    const names = asked.map(({ request }) => request.objects.map(({ metadata }) => metadata?.name));
    assert.deepEqual(names, [["a"], ["b"], ["c"], ["d"]]);
  });

  test("gets no object that is in the wanted version, and no call without one", async () => {
    const { convert, asked } = converter(good);
    const done = { ...cronTab("done"), apiVersion: to };
    assert.deepEqual(await convert([done], to), [done]);
    assert.equal(asked.length, 0);
    const [first, second] = await convert([done, cronTab("other")], to);
    assert.equal(first, done);
    assert.equal(second?.apiVersion, to);
    assert.deepEqual(
      asked.map(({ request }) => request.objects.length),
      [1],
    );
  });

  test("is asked in the first version of the review that both sides know", async () => {
    const { convert, asked } = converter(good, { conversionReviewVersions: ["v1beta1", "v1"] });
    await convert(many(1), to);
    assert.equal(asked[0]?.apiVersion, "apiextensions.k8s.io/v1beta1");
    const none = converter(good, { conversionReviewVersions: ["v9"] });
    await assert.rejects(
      none.convert(many(1), to),
      /^ApiError: no supported conversion review versions$/,
    );
  });

  test("of v1beta1 answers without uid and kind, as upstream has it", async () => {
    const answer: Answer = (review) => {
      const { response } = good(review) as { response: { uid: string } };
      return { response: { ...response, uid: "" } };
    };
    const { convert } = converter(answer, { conversionReviewVersions: ["v1beta1"] });
    assert.equal((await convert(many(1), to)).length, 1);
    await assert.rejects(converter(answer).convert(many(1), to), /expected webhook response of/);
  });

  test("that never answers is given up after 30 s", async () => {
    const { convert, clock } = converter(() => "never");
    const waiting = assert.rejects(
      convert(many(1), to),
      /conversion webhook for stable\.example\.com\/v1, Kind=CronTab failed: Post "https:\/\/hook\.example\.com\/convert\?timeout=30s": context deadline exceeded$/,
    );
    await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(30_000);
    await waiting;
  });

  test("that fails for one batch is not asked for those that wait", async () => {
    let count = 0;
    const { convert, asked } = converter((review) => {
      if (count++ > 0) return good(review);
      return { ...good(review), response: { uid: review.request.uid, result: { status: "no" } } };
    });
    await assert.rejects(convert(many(30), to), /response\.result\.status was 'no', not 'Success'/);
    assert.ok(asked.length < 5, `${asked.length} calls`);
  });

  const failures: readonly (readonly [string, (review: Review) => unknown])[] = [
    ["call_failure", () => "no review"],
    ["malformed_response_failure", () => ({ kind: "ConversionReview" })],
    ["partial_response_failure", (review) => withObjects(review, [])],
    ["invalid_converted_object_failure", (review) => withObjects(review, [{ kind: "Other" }])],
  ];
  for (const [name, answer] of failures) {
    test(`that fails is counted by upstream's names: ${name}`, async () => {
      const { convert, exposition } = converter((review) => answer(review) as object);
      await assert.rejects(convert(many(1), to));
      const labels = `result="failure",failure_type="conversion_webhook_${name}"`;
      assert.match(
        exposition(),
        new RegExp(`^apiserver_conversion_webhook_request_total\\{${labels}\\} 1$`, "m"),
      );
    });
  }

  test("that answers is counted by upstream's names, and timed for its definition", async () => {
    const { convert, exposition } = converter(good);
    await convert(many(1), to);
    const text = exposition();
    const total =
      'apiserver_conversion_webhook_request_total{result="success",failure_type=""} 1\n';
    assert.ok(text.includes(total), text);
    assert.match(text, /^apiserver_conversion_webhook_duration_seconds_count\{.*\} 1$/m);
    const labels =
      'crd_name="crontabs.stable.example.com",from_version="v1",to_version="v2",succeeded="true"';
    const timed = `apiserver_crd_conversion_webhook_duration_seconds_count{${labels}} 1\n`;
    assert.ok(text.includes(timed), text);
  });
});

function withObjects(review: Review, convertedObjects: readonly object[]): object {
  const { uid } = review.request;
  return { ...good(review), response: { uid, convertedObjects, result: { status: "Success" } } };
}
