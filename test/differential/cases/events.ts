/** Events of both groups about things in a namespace, in another, and in none. */
import { patch, post, type Case, type Step, type Suite } from "../exchange.ts";

const involved = [
  {},
  { kind: "Pod", namespace: "{ns}", name: "p" },
  { kind: "Pod", namespace: "kube-system", name: "p" },
  { kind: "Node", name: "n" },
  { kind: "Node", namespace: "default", name: "n", apiVersion: "v1" },
  { kind: "Pod", name: "p", apiVersion: "v1" },
  { kind: "Lease", name: "l", apiVersion: "coordination.k8s.io/v1" },
  { kind: "None", name: "x", apiVersion: "a.b/v1" },
  { kind: "ClusterRole", name: "x", apiVersion: "rbac.authorization.k8s.io/v1" },
];
const namespaces = ["{ns}", "default", "kube-system"];
const times = { eventTime: "2026-01-02T03:04:05.000000Z" };
const reporter = { reportingInstance: "i", action: "A", reason: "R", type: "Normal" };

function each(make: (namespace: string, about: object, at: number) => Step): readonly Step[] {
  return namespaces.flatMap((namespace) => involved.map((about, at) => make(namespace, about, at)));
}

const core: Case = {
  name: "of the core group",
  steps: each((namespace, involvedObject, at) =>
    post(`/api/v1/namespaces/${namespace}/events?dryRun=All`, {
      metadata: { name: `e${at}` },
      involvedObject,
      reason: "R",
    }),
  ),
};

const timed: Case = {
  name: "of the core group with an eventTime",
  steps: each((namespace, involvedObject, at) =>
    post(`/api/v1/namespaces/${namespace}/events?dryRun=All`, {
      ...reporter,
      ...times,
      metadata: { name: `e${at}` },
      involvedObject,
      reportingComponent: "a.b/c",
    }),
  ),
};

const newer: Case = {
  name: "of events.k8s.io",
  steps: each((namespace, regarding, at) =>
    post(`/apis/events.k8s.io/v1/namespaces/${namespace}/events?dryRun=All`, {
      ...reporter,
      ...times,
      metadata: { name: `e${at}` },
      regarding,
      reportingController: "a.b/c",
    }),
  ),
};

const path = "/apis/events.k8s.io/v1/namespaces/default/events";
const event = {
  ...reporter,
  ...times,
  metadata: { name: "differential-events" },
  regarding: { kind: "Node", name: "n" },
  reportingController: "a.b/c",
};
const series = { count: 2, lastObservedTime: "2026-01-02T03:04:06.000000Z" };
const updates: Case = {
  name: "updates and odd fields",
  steps: [
    post(path, event),
    ...[
      { series },
      { series: { count: 1 } },
      { note: "x" },
      { reason: "S" },
      { regarding: { kind: "Node", name: "m" } },
      { eventTime: "2026-01-02T03:04:06.000000Z" },
      { reportingController: "d" },
      { type: "Warning" },
    ].map((change) => patch("merge", `${path}/differential-events?dryRun=All`, change)),
    ...[
      { reportingController: "" },
      { reportingInstance: "" },
      { action: "" },
      { reason: "" },
      { type: "Odd" },
      { eventTime: null },
      { series: { count: 1 } },
      { deprecatedCount: 3 },
      { deprecatedSource: { component: "c" } },
      { deprecatedFirstTimestamp: "2026-01-02T03:04:05Z" },
      { note: "n".repeat(1025) },
      { related: { kind: "Pod", namespace: "other", name: "p" } },
    ].map((change) => post(`${path}?dryRun=All`, { ...event, metadata: { name: "x" }, ...change })),
    ...[{ involvedObject: { kind: "Node", name: "m" } }, { count: 3 }, { type: "Odd" }].map(
      (change) =>
        patch("merge", "/api/v1/namespaces/default/events/differential-events?dryRun=All", change),
    ),
  ],
};

export const events: Suite = { name: "events", cases: [core, timed, newer, updates] };
