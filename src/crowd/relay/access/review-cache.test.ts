/** Answers about people: how long they count, and when the upstream is asked again. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#platform/testing/clock.ts";
import { failure } from "#api/status.ts";
import { relayLimits } from "../limits.ts";
import { ReviewCache } from "./review-cache.ts";

const { allowedMs, deniedMs, reviewWaitMs } = relayLimits;

/** An upstream that is asked one thing. */
function upstream() {
  const clock = new FakeClock();
  const cache = new ReviewCache<string>({ clock }, relayLimits, (value) => value !== "no");
  const state = { answer: "yes", away: false, asked: 0 };
  const ask = (): Promise<string> => {
    state.asked++;
    if (state.away) return Promise.reject(failure(503, "ServiceUnavailable", "away", {}));
    return Promise.resolve(state.answer);
  };
  return { clock, cache, state, ask, get: () => cache.get("somebody", ask) };
}

void test("who keeps asking is answered from memory, and the upstream before the answer runs out", async () => {
  const { clock, cache, state, ask, get } = upstream();
  assert.equal(await get(), "yes");
  const recalled = cache.recall("somebody", ask);
  for (let ms = 0; ms < 10 * allowedMs; ms += 100) {
    await clock.advance(100);
    assert.equal(recalled(), true, `after ${ms} ms`);
  }
  assert(state.asked > 10 && state.asked <= 1 + 20, `asked ${state.asked} times`);
});

void test("an answer nobody uses is not asked about again, and is over in its time", async () => {
  const { clock, cache, state, ask, get } = upstream();
  await get();
  const recalled = cache.recall("somebody", ask);
  await clock.advance(allowedMs);
  assert.equal(state.asked, 1);
  assert.equal(recalled(), false);
});

void test("a no counts from the moment the upstream says it", async () => {
  const { clock, cache, state, ask, get } = upstream();
  await get();
  const recalled = cache.recall("somebody", ask);
  state.answer = "no";
  await clock.advance(allowedMs * 0.95);
  // This one sets off the question.
  assert.equal(await get(), "yes");
  await clock.advance(0);
  assert.equal(recalled(), false);
  assert.equal(await get(), "no");
  assert.equal(state.asked, 2);
  await clock.advance(deniedMs);
  assert.equal(await get(), "no");
  assert.equal(state.asked, 3, "a no is asked about when it is over");
});

void test("an upstream that is away is tried once a second, and its yes stands in after its time", async () => {
  const { clock, cache, state, get } = upstream();
  await get();
  state.away = true;
  for (let ms = 0; ms < allowedMs - 100; ms += 10) {
    await clock.advance(10);
    assert.equal(await get(), "yes");
  }
  assert(state.asked <= 1 + (allowedMs * 0.5) / 1000, `asked ${state.asked} times`);
  assert.equal(cache.counts.graced, 0, "its own time was not over");
  await clock.advance(allowedMs);
  assert.equal(await get(), "yes");
  assert.equal(cache.counts.graced, 1);
});

void test("a crowd that came at once is not asked about at once", async () => {
  const { clock, cache } = upstream();
  const crowd = 1000;
  let asked = 0;
  const everybody = (): Promise<unknown> =>
    Promise.all(
      Array.from({ length: crowd }, (_, at) =>
        cache.get(`${at}`, () => {
          asked++;
          return Promise.resolve("yes");
        }),
      ),
    );
  await everybody();
  const steps: number[] = [];
  for (let ms = 100; ms < 2 * allowedMs; ms += 100) {
    asked = 0;
    await clock.advance(100);
    await everybody();
    steps.push(asked);
  }
  assert(Math.max(...steps) <= crowd / 20, `at most ${Math.max(...steps)} in a tenth of a second`);
});

void test("an upstream that does not answer keeps nobody waiting who had a yes", async () => {
  const { clock, cache, get } = upstream();
  await get();
  await clock.advance(allowedMs);
  const asked: PromiseWithResolvers<string>[] = [];
  const slowGet = (): Promise<string> =>
    cache.get("somebody", () => {
      asked.push(Promise.withResolvers<string>());
      return asked.at(-1)?.promise ?? Promise.reject(new Error("no question"));
    });
  const first = settled(slowGet());
  await clock.advance(reviewWaitMs - 1);
  assert.equal(first.value, undefined, "it may still come");
  await clock.advance(1);
  assert.equal(first.value, "yes");
  const second = settled(slowGet());
  await clock.advance(0);
  assert.equal(second.value, "yes", "the question has had its time");
  assert.equal(asked.length, 1, "one question at a time");
  asked[0]?.resolve("no");
  await clock.advance(0);
  assert.equal(await slowGet(), "no", "a late answer counts");
});

void test("for a second after a question failed the earlier yes is given at once", async () => {
  const { clock, state, get } = upstream();
  await get();
  state.away = true;
  await clock.advance(allowedMs);
  for (let at = 0; at < 100; at++) assert.equal(await get(), "yes");
  assert.equal(state.asked, 2);
  await clock.advance(1_000);
  state.away = false;
  state.answer = "no";
  assert.equal(await get(), "no");
  assert.equal(state.asked, 3);
});

void test("an upstream that is starting, or refuses oddly, gives no verdict; one that refuses the relay does", async () => {
  const refusals = [404, 408, 409, 429, 500, 503, 508].map((code) => failure(code, "", "no", {}));
  for (const error of [...refusals, new Error("connection cut")]) {
    const { clock, cache, get } = upstream();
    await get();
    await clock.advance(allowedMs);
    assert.equal(await cache.get("somebody", () => Promise.reject(error)), "yes", error.message);
    await assert.rejects(
      cache.get("stranger", () => Promise.reject(error)),
      "nothing is assumed",
    );
  }
  for (const code of [401, 403]) {
    const { clock, cache, get } = upstream();
    await get();
    await clock.advance(allowedMs);
    await assert.rejects(cache.get("somebody", () => Promise.reject(failure(code, "", "no", {}))));
  }
});

function settled<T>(promise: Promise<T>): { value: T | undefined } {
  const outcome: { value: T | undefined } = { value: undefined };
  void promise.then((value) => (outcome.value = value));
  return outcome;
}
