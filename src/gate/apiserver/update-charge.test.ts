/** What writes hold while they are made, seen from admission. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AdmissionPlugin } from "#admission/admission.ts";
import { roomyLedger } from "#platform/testing/roomy-ledger.ts";
import { ask, openPlane } from "./testing/plane.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const large = { metadata: { name: "large" }, data: { text: "x".repeat(200_000) } };

test("a patch of a few bytes is charged for the object it changes, and gives it back", async () => {
  const ledger = roomyLedger();
  const seen: number[] = [];
  const watching: AdmissionPlugin = {
    name: "watching",
    validate: () => void seen.push(ledger.held("patch")),
  };
  const plane = await openPlane({ ledger, plugins: [watching] });
  assert.equal((await ask(plane, "POST", maps, { body: large })).status, 201);
  const patch = {
    body: { metadata: { labels: { a: "b" } } },
    type: "application/merge-patch+json",
  };
  assert.equal((await ask(plane, "PATCH", `${maps}/large`, patch)).status, 200);
  assert.equal(seen[0], 0);
  assert.ok((seen[1] ?? 0) > 800_000, String(seen));
  assert.equal(ledger.held("patch"), 0);
  await plane.close();
});

test("a caller that may not hold the copies is refused before they are made", async () => {
  const ledger = roomyLedger({ callerBytesMax: 1_500_000 });
  const plane = await openPlane({ ledger });
  const answer = await ask(plane, "POST", maps, { body: large });
  assert.equal(answer.status, 201);
  const holding = ledger.open("user:tester");
  holding.force("watch", 1_000_000);
  const patch = {
    body: { metadata: { labels: { a: "b" } } },
    type: "application/merge-patch+json",
  };
  const refused = await ask(plane, "PATCH", `${maps}/large`, patch);
  assert.equal(refused.status, 429, refused.text);
  assert.match(refused.text, /of one caller is reached/);
  await plane.close();
});
