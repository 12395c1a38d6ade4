/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { evidenceOf, nowMs, sampled } from "../testing/evidence.ts";
import { certificates } from "./certificates.ts";

const dayMs = 86_400_000;

function serving(days: number) {
  return certificates.judge(evidenceOf({ servingCertificateEndMs: nowMs + days * dayMs }));
}

test("a serving certificate warns a week before its end, and pages a day before", () => {
  assert.deepEqual(
    [8, 6, 0.5, -1].map((days) => serving(days)[0]?.severity),
    [undefined, "warn", "page", "page"],
  );
  assert.match(serving(-1)[0]?.sentence ?? "", /ended at 2026-01-01T03/);
});

function bucket(day: number, week: number, month: number): string {
  const name = "apiserver_client_certificate_expiration_seconds_bucket";
  const rows = { 86400: day, 604800: week, 2592000: month, "+Inf": month };
  return Object.entries(rows)
    .map(([le, count]) => `${name}{le="${le}"} ${count}\n`)
    .join("");
}

test("a client whose certificate ends within a day is found", () => {
  const [verdict] = certificates.judge(sampled(bucket(0, 0, 5), bucket(2, 2, 9)));
  assert.equal(verdict?.severity, "page");
  assert.equal(verdict.figures["requests"], 2);
});

test("certificates that last, and one that was renewed before the look, are well", () => {
  assert.deepEqual(certificates.judge(sampled(bucket(2, 2, 5), bucket(2, 2, 9))), []);
});
