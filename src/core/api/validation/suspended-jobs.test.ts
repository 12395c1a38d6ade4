/** What of a waiting Job's template may change: MutablePodResourcesForSuspendedJobs and its sister, both on in 1.36. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyObject } from "../object.ts";
import { strategyFor } from "../strategies/strategies.ts";
import { created } from "./testing/findings.ts";

const container = { name: "c", image: "i", resources: { requests: { cpu: "1" } } };
const init = { name: "i", image: "i" };
const template = {
  metadata: { labels: { a: "b" } },
  spec: { restartPolicy: "Never", containers: [container], initContainers: [init] },
};

function job(suspend: boolean, changed: object, status: object): AnyObject {
  const pod = { ...template.spec, ...changed };
  const spec = { suspend, template: { ...template, spec: pod } };
  const metadata = { name: "j", namespace: "default", uid: "u" };
  const made = created(JSON.stringify({ apiVersion: "batch/v1", kind: "Job", metadata, spec }));
  return { ...made, status };
}

const more = { containers: [{ ...container, resources: { requests: { cpu: "2" } } }] };
const resources = {
  ...more,
  initContainers: [{ ...init, resources: { limits: { memory: "1Gi" } } }],
};
const directives = { nodeSelector: { zone: "a" }, tolerations: [{ operator: "Exists" }] };
const suspended = [{ type: "Suspended", status: "True" }];
const ran = { startTime: "2026-01-01T00:00:00Z" };

/** `refused`: the field. */
const cases: readonly {
  readonly name: string;
  readonly suspend: boolean;
  readonly status: object;
  readonly changed: object;
  readonly refused?: string;
}[] = [
  { name: "resources, never started", suspend: true, status: {}, changed: resources },
  { name: "directives, never started", suspend: true, status: {}, changed: directives },
  {
    name: "both, suspended after it ran",
    suspend: true,
    status: { ...ran, conditions: suspended },
    changed: { ...resources, ...directives },
  },
  {
    name: "resources, not suspended yet by its controller",
    suspend: true,
    status: ran,
    changed: resources,
    refused: "spec.template",
  },
  {
    name: "directives, not suspended yet by its controller",
    suspend: true,
    status: { ...ran, conditions: [{ type: "Suspended", status: "False" }] },
    changed: directives,
    refused: "spec.template",
  },
  {
    name: "resources, while pods are left",
    suspend: true,
    status: { conditions: suspended, active: 1 },
    changed: resources,
    refused: "spec.template",
  },
  {
    name: "resources, of a job that runs",
    suspend: false,
    status: ran,
    changed: more,
    refused: "spec.template",
  },
  {
    name: "an image, never started",
    suspend: true,
    status: {},
    changed: { containers: [{ ...container, image: "other" }] },
    refused: "spec.template.spec",
  },
  {
    name: "a container more, never started",
    suspend: true,
    status: {},
    changed: { containers: [container, { name: "d", image: "i" }] },
    refused: "spec.template.spec",
  },
  {
    name: "resources of a container with another name",
    suspend: true,
    status: {},
    changed: { containers: [{ ...container, name: "other" }] },
    refused: "spec.template.spec",
  },
];

for (const { name, suspend, status, changed, refused } of cases) {
  test(`${name}: ${refused === undefined ? "may change" : "is refused"}`, () => {
    const old = job(suspend, {}, status);
    const errors = strategyFor("batch", "jobs").validateUpdate(job(suspend, changed, status), old);
    const found = errors.map(({ field, message }) => [field, message.replace(/: \{.*\}/, "")]);
    const expected = refused === undefined ? [] : [[refused, "Invalid value: field is immutable"]];
    assert.deepEqual(found, expected);
  });
}
