/** Accept headers in Go's order, and the refusals. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { contentType, negotiate, type TransformRule } from "./negotiate.ts";

function answer(accept: string, rule: TransformRule = "objects", agent = "go"): string {
  const headers = { accept, "user-agent": agent };
  const {
    mediaType,
    isPretty: pretty,
    transform,
  } = negotiate(headers, new URLSearchParams(), rule);
  const as = transform === undefined ? "" : ` as ${transform.kind} ${transform.version}`;
  return `${mediaType}${pretty ? " pretty" : ""}${as}`;
}

test("nothing and anything mean JSON; q decides, then exactness, then the client's order", () => {
  assert.equal(answer(""), "application/json");
  assert.equal(answer("*/*"), "application/json");
  assert.equal(answer("application/*;q=0.9,application/yaml;q=0.9"), "application/yaml");
  assert.equal(answer("application/json;q=0.1, application/yaml"), "application/yaml");
  assert.equal(answer("application/cbor,application/json"), "application/json");
});

test("a table is served where the endpoint has tables, else the next clause is tried", () => {
  const kubectl =
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
  assert.equal(answer(kubectl), "application/json as Table v1");
  assert.equal(answer(kubectl, "none"), "application/json");
  const only = "application/json;as=Table;v=v1;g=meta.k8s.io";
  assert.throws(() => answer(only, "none"), /only the following media types are accepted/);
  assert.throws(() => answer("application/json;as=Chair;v=v1;g=meta.k8s.io"), /media types/);
});

test("people get indented JSON, and a body without a type is JSON", () => {
  assert.equal(answer("", "objects", "curl/8"), "application/json pretty");
  assert.equal(contentType({}), "application/json");
  assert.equal(
    contentType({ "content-type": "Application/YAML; charset=utf-8" }),
    "application/yaml",
  );
});
