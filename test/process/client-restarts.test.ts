/** The client library through kills, in short; `npm run soak -- client` is the long form. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { clientDrill } from "./client-drill.ts";

test("informers on a plane and on a relay miss nothing while each is killed four times", async () => {
  const report = await clientDrill(4);
  assert.deepEqual(report.missed, []);
  assert.ok(report.events > report.writes, `${report.events} events of ${report.writes} writes`);
});
