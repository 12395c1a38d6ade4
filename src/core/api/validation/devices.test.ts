/** Devices whose texts and lists are as long as a body allows. What single faults are answered: suite `devices` of test/differential. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { validateResourceClaim } from "./device-claims.ts";
import { validateResourceSlice } from "./device-slices.ts";

const bytes = 3_000_000;

function slice(fields: object): object {
  const pool = { name: "p", generation: 1, resourceSliceCount: 1 };
  return { spec: { driver: "a.example.com", pool, nodeName: "n", ...fields } };
}

test("a text of megabytes makes few findings", () => {
  const pool = { name: "/".repeat(bytes), generation: 1, resourceSliceCount: 1 };
  assert.ok(validateResourceSlice({ ...slice({ pool }) }).length < 300);
  for (const version of [`1.0.0-${"1".repeat(bytes)}!`, `1.0.0${"-1.".repeat(bytes / 3)}`]) {
    const device = { name: "d", attributes: { a: { version } } };
    assert.equal(validateResourceSlice({ ...slice({ devices: [device] }) }).length, 2);
  }
  const constraint = { matchAttribute: "/".repeat(bytes), requests: ["/".repeat(bytes)] };
  const request = { name: "r", exactly: { deviceClassName: "c", allocationMode: "All" } };
  const devices = { requests: [request], constraints: [constraint] };
  assert.equal(validateResourceClaim({ spec: { devices } }).length, 1);
});

test("a list beyond its limit is one finding", () => {
  const devices = Array.from({ length: 20_000 }, () => ({ name: "Bad_Name" }));
  assert.deepEqual(
    validateResourceSlice({ ...slice({ devices }) }).map(({ message }) => message),
    ["Too many: 20000: must have at most 128 items"],
  );
});
