/** The bounds of one object: what is counted, and that managed fields are counted apart. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { objectLimits, refuseBeyondLimits } from "./object-limits.ts";
import { ApiError } from "../status.ts";

const keys = (prefix: string, count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`${prefix}${at}`, ""]));

function codeOf(value: unknown): number {
  try {
    refuseBeyondLimits(value);
    return 200;
  } catch (error) {
    assert.ok(error instanceof ApiError);
    return error.status.code ?? 0;
  }
}

test("an object with the most keys stays writable when managed fields repeat them all", () => {
  const count = objectLimits.keysMax - 10;
  const managedFields = [{ manager: "m", fieldsV1: { "f:data": keys("f:k", count) } }];
  assert.equal(codeOf({ metadata: { name: "x", managedFields }, data: keys("k", count) }), 200);
});

test("managed fields have the same limits of their own", () => {
  const managedFields = [{ fieldsV1: keys("f:k", objectLimits.keysMax + 1) }];
  assert.equal(codeOf({ metadata: { managedFields } }), 413);
});

test("too many keys are 413, and too deep a nesting is 400", () => {
  assert.equal(codeOf({ data: keys("k", objectLimits.keysMax + 1) }), 413);
  let deep: object = {};
  for (let at = 0; at <= objectLimits.depthMax; at++) deep = { a: deep };
  assert.equal(codeOf(deep), 400);
});
