/** Calls of loops in this process over turns of the event loop. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PlainHandler, PlainRequest } from "#platform/http.ts";
import { FakeClock, settle } from "#platform/testing/clock.ts";
import { pacedHandler } from "./paced-handler.ts";

const request = {} as PlainRequest; // the handler below does not look at it

/** Notes which call it was when it begins. */
function notingHandler(begun: number[]): PlainHandler {
  return () => {
    begun.push(begun.length);
    return Promise.resolve({ kind: "object", status: 200, headers: {}, object: {} });
  };
}

test("a thousand calls at once begin 48 a turn", async () => {
  const clock = new FakeClock();
  const begun: number[] = [];
  const paced = pacedHandler(clock, notingHandler(begun));
  const calls = Promise.all(Array.from({ length: 1000 }, () => paced(request)));
  for (let turns = 1; begun.length < 1000; turns++) {
    await settle();
    assert.equal(begun.length, Math.min(48 * turns, 1000));
    clock.fire("client.turn");
  }
  await calls;
});

test("a few calls wait for nothing, and as many again after a turn", async () => {
  const clock = new FakeClock();
  const begun: number[] = [];
  const paced = pacedHandler(clock, notingHandler(begun));
  for (let call = 0; call < 48; call++) await paced(request);
  clock.fire("client.turn");
  for (let call = 0; call < 48; call++) await paced(request);
  assert.equal(begun.length, 96);
});
