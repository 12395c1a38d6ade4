/** Claims, templates and slices keep everything on the way to another version and back. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { convert } from "./convert.ts";
import type { AnyObject } from "../object.ts";

const exact = { deviceClassName: "gpu", allocationMode: "ExactCount", count: 2 };
const v1: AnyObject = {
  apiVersion: "resource.k8s.io/v1",
  kind: "ResourceClaim",
  metadata: { name: "c" },
  spec: {
    devices: {
      requests: [
        { name: "a", exactly: exact },
        { name: "b", firstAvailable: [{ name: "s" }] },
      ],
    },
  },
} as AnyObject;

test("a request's device fields move between the request and exactly", () => {
  const old = convert(v1, "resource.k8s.io/v1beta1");
  assert.deepEqual(old["spec"], {
    devices: {
      requests: [
        { name: "a", ...exact },
        { name: "b", firstAvailable: [{ name: "s" }] },
      ],
    },
  });
  assert.deepEqual(convert(old, "resource.k8s.io/v1"), v1);
});

test("v1beta2 has the shape of v1", () => {
  const next = convert(v1, "resource.k8s.io/v1beta2");
  assert.deepEqual({ ...next, apiVersion: v1.apiVersion }, v1);
  const old = convert(next, "resource.k8s.io/v1beta1");
  assert.deepEqual(convert(old, "resource.k8s.io/v1beta2"), next);
});

test("a slice's devices are wrapped in basic in v1beta1", () => {
  const slice = {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceSlice",
    spec: { driver: "d", devices: [{ name: "g0", attributes: { x: { int: 1 } } }] },
  } as AnyObject;
  const old = convert(slice, "resource.k8s.io/v1beta1");
  assert.deepEqual(old["spec"], {
    driver: "d",
    devices: [{ name: "g0", basic: { attributes: { x: { int: 1 } } } }],
  });
  assert.deepEqual(convert(old, "resource.k8s.io/v1"), slice);
});
