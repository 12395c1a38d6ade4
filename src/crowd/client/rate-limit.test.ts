/** A client's requests keep to its rate, in order, and a request that is taken back does not wait. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ByteRequest, ByteTransport } from "#platform/byte-transport.ts";
import { FakeClock, settle } from "#platform/testing/clock.ts";
import { rateLimited } from "./rate-limit.ts";
import { TokenBucket } from "./token-bucket.ts";

function counted() {
  const sent: string[] = [];
  const http: ByteTransport = {
    send: ({ target }) => {
      sent.push(target);
      return Promise.reject(new Error("not answered here"));
    },
    close: () => {},
  };
  return { http, sent };
}

function requestFor(target: string, signal = new AbortController().signal): ByteRequest {
  return { method: "GET", target, headers: {}, signal };
}

test("a burst goes at once, then one request for each token", async () => {
  const clock = new FakeClock();
  const { http, sent } = counted();
  const limited = rateLimited(http, { qps: 2, burst: 3 }, clock);
  for (let at = 0; at < 6; at += 1) limited.send(requestFor(`/${at}`)).catch(() => {});
  await settle();
  assert.deepEqual(sent, ["/0", "/1", "/2"]);
  await clock.advance(499);
  assert.equal(sent.length, 3);
  await clock.advance(1);
  assert.deepEqual(sent.slice(3), ["/3"]);
  await clock.advance(1_000);
  assert.deepEqual(sent.slice(3), ["/3", "/4", "/5"]);
});

test("a quiet time gives back no more than the burst", async () => {
  const clock = new FakeClock();
  const bucket = new TokenBucket({ qps: 10, burst: 2 }, clock);
  await clock.advance(3_600_000);
  assert.deepEqual([bucket.take(), bucket.take(), bucket.take()], [0, 0, 100]);
});

test("a request that is taken back while it waits is not sent", async () => {
  const clock = new FakeClock();
  const { http, sent } = counted();
  const limited = rateLimited(http, { qps: 1, burst: 1 }, clock);
  limited.send(requestFor("/first")).catch(() => {});
  const stop = new AbortController();
  const waiting = limited.send(requestFor("/second", stop.signal));
  stop.abort();
  await assert.rejects(waiting, { code: "ABORTED" });
  await clock.advance(5_000);
  assert.deepEqual(sent, ["/first"]);
});
