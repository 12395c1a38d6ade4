/** Requests go when nobody needs them: upstream's ages. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatTime } from "#api/values/time.ts";
import { refs } from "../framework/refs.ts";
import { condition, fakeAuthority, signingRequest } from "../testing/certificates.ts";
import { createWorld, names } from "../testing/world.ts";
import { CertificateCleaner } from "./cleaner.ts";
import { isPastUse } from "./lifetime.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const nowMs = Date.UTC(2026, 0, 2);
const ago = (ms: number): string => formatTime(nowMs - ms);

const old = ago(1000 * hourMs);
const approved = (ms: number) => [condition("Approved", ago(ms))];

const cases: readonly (readonly [
  string,
  number,
  (ageMs: number) => Parameters<typeof signingRequest>[1],
])[] = [
  ["pending", 24 * hourMs, (age) => ({ created: ago(age) })],
  ["issued", hourMs, (age) => ({ created: old, certificate: "c", conditions: approved(age) })],
  ["approved only", 24 * hourMs, (age) => ({ created: old, conditions: approved(age) })],
  ["denied", hourMs, (age) => ({ created: old, conditions: [condition("Denied", ago(age))] })],
  [
    "failed",
    hourMs,
    (age) => ({ created: old, conditions: [...approved(0), condition("Failed", ago(age))] }),
  ],
];

for (const [state, keptMs, fields] of cases) {
  test(`a request that is ${state} is kept for ${keptMs / hourMs} h, and no longer`, () => {
    const isPast = (ageMs: number): boolean =>
      isPastUse(signingRequest("a", fields(ageMs)), nowMs, undefined);
    assert.equal(isPast(keptMs), false);
    assert.equal(isPast(keptMs + 1000), true);
  });
}

test("a request whose certificate has ended goes at once; conditions without a time keep it", () => {
  const issued = signingRequest("a", { certificate: "c", conditions: approved(0) });
  assert.equal(isPastUse(issued, nowMs, nowMs), false);
  assert.equal(isPastUse(issued, nowMs, nowMs - 1), true);
  const timeless = signingRequest("a", { created: old, conditions: [condition("Approved")] });
  assert.equal(isPastUse(timeless, nowMs, undefined), false);
});

test("requests are looked at on the start and every hour, and deleted by their uids", async () => {
  const world = createWorld();
  const created = (ageMs: number) => ({ created: formatTime(world.clock.nowMs() - ageMs) });
  const put = (name: string, ageMs: number) =>
    world.api.put(refs.certificatesigningrequests, signingRequest(name, created(ageMs)));
  put("old", 25 * hourMs);
  put("ageing", 23.5 * hourMs);
  put("new", 0);
  await world.start((deps) => new CertificateCleaner(deps, fakeAuthority().authority));
  assert.deepEqual(names(world.api, refs.certificatesigningrequests), ["ageing", "new"]);
  await world.advance(59 * minuteMs);
  assert.equal(world.writes().length, 1);
  await world.advance(minuteMs);
  assert.deepEqual(names(world.api, refs.certificatesigningrequests), ["new"]);
  await world.stop();
});
