/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { sampled } from "../testing/evidence.ts";
import { requestErrors } from "./request-errors.ts";

const requests = (code: number, count: number): string =>
  `apiserver_request_total{verb="POST",group="apps",resource="deployments",code="${code}"} ${count}\n`;

test("a resource whose writes fail is named, and pages when a fifth of them do", () => {
  const few = sampled(requests(201, 0), requests(201, 95) + requests(500, 5));
  const [verdict] = requestErrors.judge(few);
  assert.equal(verdict?.culprit, "POST of deployments.apps");
  assert.equal(verdict.severity, "warn");
  const many = sampled(requests(201, 0), requests(201, 20) + requests(503, 20));
  assert.equal(requestErrors.judge(many)[0]?.severity, "page");
});

test("errors that a dead webhook explains are the webhook's finding", () => {
  const rejected = (count: number): string =>
    `apiserver_admission_webhook_rejection_count{name="a",error_type="calling_webhook_error"} ${count}\n`;
  const dead = sampled(requests(201, 0), requests(500, 20) + rejected(20));
  assert.deepEqual(requestErrors.judge(dead), []);
  const readLater = sampled(requests(201, 0), requests(500, 22) + rejected(20));
  assert.deepEqual(requestErrors.judge(readLater), []);
  const more = sampled(requests(201, 0), requests(500, 30) + rejected(20));
  assert.equal(requestErrors.judge(more).length, 1);
});

test("refusals, two errors, and errors of before are well", () => {
  assert.deepEqual(requestErrors.judge(sampled(requests(201, 0), requests(409, 50))), []);
  assert.deepEqual(requestErrors.judge(sampled(requests(201, 0), requests(500, 2))), []);
  const before = requests(500, 90);
  assert.deepEqual(requestErrors.judge(sampled(before, before + requests(201, 50))), []);
});
