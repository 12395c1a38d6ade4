/** Numbers of key exchanges, as they are given. How they are kept to: `apiserver/rim-hello.test.ts`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { curvesOf } from "./tls-curves.ts";

void test("the strongest comes first, however they are given", () => {
  assert.equal(curvesOf([23, 29, 4588]), "X25519MLKEM768:X25519:P-256");
  assert.equal(curvesOf([29]), "X25519");
});

void test("what is none, or comes twice, is refused with what may be given", () => {
  assert.throws(() => curvesOf([30]), /curve 30 is not known: give some of 4588 X25519MLKEM768, /);
  assert.throws(() => curvesOf([Number.NaN]), RangeError);
  assert.throws(() => curvesOf([29, 23, 29]), /curve 29 is there twice/);
});
