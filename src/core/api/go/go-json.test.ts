/** JSON text in Go's spelling. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { goJson } from "./go-json.ts";

test("what HTML and JavaScript would read is escaped, as Go's encoder does", () => {
  assert.equal(
    goJson({ a: "<b> & \u2028\u2029" }),
    String.raw`{"a":"\u003cb\u003e \u0026 \u2028\u2029"}`,
  );
});

test("keys of a map that are numbers stand where Go sorts them", () => {
  assert.equal(
    goJson({ z: 1, labels: { b: "", 9: "x", 10: "y" } }),
    '{"z":1,"labels":{"10":"y","9":"x","b":""}}',
  );
});
