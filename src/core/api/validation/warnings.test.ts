/**
 * Upstream's warnings, one row each (the written object, the texts), on create or update. Answers of a stock server to
 * the rows are in test/differential ("warnings").
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { warnings, warningsOfUpdate } from "./testing/findings.ts";
import {
  container,
  deployment,
  object,
  pod,
  service,
  warnedManifests,
} from "./testing/warning-rows.ts";

for (const [name, yaml, texts] of warnedManifests) {
  test(`On create, ${name}: ${texts.length} warnings`, () =>
    assert.deepEqual(warnings(yaml), texts));
}

const oldLabel = "nodeSelector: {beta.kubernetes.io/os: linux}";
const deprecatedLabel =
  'spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead';
const cron = (schedule: string): string =>
  object(
    "batch/v1",
    "CronJob",
    `spec: {schedule: "${schedule}", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [${container}]}}}}}`,
  );

const updated: readonly (readonly [string, string, string, string, readonly string[]])[] = [
  ["a pod", pod(oldLabel), pod(oldLabel), "", []],
  [
    "a template beside a change",
    deployment(oldLabel),
    deployment(oldLabel, "n", ", paused: true"),
    "",
    [deprecatedLabel],
  ],
  [
    "the scale of it",
    deployment(oldLabel),
    deployment(oldLabel, "n", ", replicas: 3"),
    "scale",
    [deprecatedLabel],
  ],
  ["nothing", deployment(oldLabel), deployment(oldLabel), "", []],
  ["its status", deployment(oldLabel), deployment(oldLabel), "status", []],
  [
    "a schedule with a zone",
    cron("* * * * *"),
    cron("TZ=UTC * * * * *"),
    "",
    [
      "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details",
    ],
  ],
  [
    "addresses that a load balancer got",
    service("type: LoadBalancer"),
    object("v1", "Service", "status: {loadBalancer: {ingress: [{ip: '2001:DB8::1'}]}}"),
    "status",
    [
      'status.loadBalancer.ingress[0]: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")',
    ],
  ],
  [
    "addresses of a pod",
    pod(""),
    object("v1", "Pod", "status: {podIPs: [{ip: '2001:DB8::1'}]}"),
    "status",
    [
      'status.podIPs[0].ip: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")',
    ],
  ],
];

for (const [name, old, next, subresource, texts] of updated) {
  test(`On update, ${name}: ${texts.length} warnings`, () =>
    assert.deepEqual(warningsOfUpdate(old, next, subresource), texts));
}
