/** `/statusz` and `/flagz` as a stock 1.36.3 answers them, but for the separator of their texts and the paths that are there. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, statusOf, withPlane } from "./testing/plane.ts";

const as = (version: string, type = "application/json", kind = "Statusz"): string =>
  `${type};g=config.k8s.io;v=${version};as=${kind}`;

test("it is text unless an object is asked for by group, version and kind", () =>
  withPlane(async (plane) => {
    await plane.clock.advance(3_725_000);
    for (const accept of ["", "*/*", "text/plain;charset=utf-8"]) {
      const answer = await ask(plane, "GET", "/statusz", { headers: { accept } });
      assert.equal(answer.status, 200);
      assert.match(String(answer.headers["content-type"]), /^text\/plain/);
      assert.match(answer.text, /^\napiserver statusz\nWarning: This endpoint is not meant/);
      assert.match(answer.text, /\nStarted: Thu Jan {2}1 \d\d:\d\d:\d\d UTC 2026\nUp: 1 hr 02 min/);
      assert.match(answer.text, /\nEmulation version: 1\.36\nPaths: \/flagz \/healthz /);
    }
    const object = await ask(plane, "GET", "/statusz", { headers: { accept: as("v1beta1") } });
    assert.equal(object.headers["content-type"], as("v1beta1"));
    const { startTime, uptimeSeconds, goVersion, paths, ...rest } = object.json as never as Record<
      string,
      unknown
    >;
    assert.match(String(startTime), /^2026-01-01T\d\d:\d\d:\d\dZ$/);
    assert.equal(uptimeSeconds, 3_725);
    assert.ok(typeof goVersion === "string" && Array.isArray(paths));
    assert.deepEqual(rest, {
      kind: "Statusz",
      apiVersion: "config.k8s.io/v1beta1",
      metadata: { name: "apiserver" },
      binaryVersion: "1.36.0",
      emulationVersion: "1.36",
    });
    assert.ok((await ask(plane, "GET", "/")).text.includes('"/statusz"'));
  }));

test("the older version warns, and what nobody knows is not acceptable", () =>
  withPlane(async (plane) => {
    const old = await ask(plane, "GET", "/statusz", {
      headers: { accept: as("v1alpha1", "application/yaml") },
    });
    assert.match(String(old.headers["warning"]), /^299 - "This version of the statusz endpoint/);
    assert.match(old.text, /^apiVersion: config\.k8s\.io\/v1alpha1\n/);
    for (const accept of ["application/json", "text/html", as("v9"), as("v1beta1", "text/plain")]) {
      const refused = await ask(plane, "GET", "/statusz", { headers: { accept } });
      assert.equal(refused.status, 406, accept);
      assert.equal(
        statusOf(refused).message,
        "only the following media types are accepted: application/json, application/yaml, text/plain",
      );
    }
  }));

test("flags are text unless an object is asked for, for whom the policy allows it", () =>
  withPlane(async (plane) => {
    const text = await ask(plane, "GET", "/flagz");
    assert.match(text.text, /^\napiserver flagz\nWarning: This endpoint is not meant/);
    const accept = as("v1beta1", "application/json", "Flagz");
    const object = await ask(plane, "GET", "/flagz", { headers: { accept } });
    assert.equal(object.headers["content-type"], accept);
    assert.deepEqual(object.json as unknown, {
      kind: "Flagz",
      apiVersion: "config.k8s.io/v1beta1",
      metadata: { name: "apiserver" },
      flags: {},
    });
    const old = await ask(plane, "GET", "/flagz", {
      headers: { accept: as("v1alpha1", "application/yaml", "Flagz") },
    });
    assert.match(String(old.headers["warning"]), /^299 - "This version of the flagz endpoint/);
    for (const wrong of [as("v1beta1"), "application/json"]) {
      const refused = await ask(plane, "GET", "/flagz", { headers: { accept: wrong } });
      assert.equal(refused.status, 406, wrong);
    }
  }));
