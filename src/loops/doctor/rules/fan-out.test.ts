/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseAllDocuments } from "yaml";
import { AuditCounter } from "../audit.ts";
import type { Evidence, SeenObject, Workload } from "../evidence.ts";
import { auditEvent } from "../testing/audit.ts";
import { evidenceOf, named, sampled } from "../testing/evidence.ts";
import { fanOut, namespacesOfCrowds } from "./fan-out.ts";

const proxy: Workload = {
  kind: "deployment",
  namespace: "edge",
  name: "proxy",
  serviceAccount: "proxy",
  replicas: 100,
  containers: ["proxy"],
};
const account = "system:serviceaccount:edge:proxy";
const seconds = 30;

interface Asked {
  readonly clients: number;
  readonly every: number;
  readonly user?: (client: number) => string;
  readonly verb?: "list" | "watch";
  readonly extra?: (client: number) => object;
}

/** Returns an audit log of half a minute, in which each client sends one request every `every` seconds. */
function logOf({ clients, every, user = () => account, verb = "list", extra }: Asked) {
  const counter = new AuditCounter();
  for (let at = 0; at <= seconds; at += every) {
    for (let client = 0; client < clients; client++) {
      counter.add(
        auditEvent({
          verb,
          ...(verb === "watch" ? { stage: "ResponseStarted" } : {}),
          userAgent: "proxy/1",
          user: { username: user(client), ...extra?.(client) },
          objectRef: { resource: "ingresses", apiGroup: "networking.k8s.io", apiVersion: "v1" },
          requestReceivedTimestamp: new Date(1_767_323_000_000 + at * 1_000).toISOString(),
        }),
      );
    }
  }
  return counter.result();
}

function judge(asked: Asked, parts: Partial<Evidence> = {}) {
  return fanOut.judge(evidenceOf({ audit: logOf(asked), workloads: [proxy], ...parts }));
}

const ofPod = (client: number): object => ({
  extra: { "authentication.kubernetes.io/pod-name": [`proxy-${client}`] },
});

test("a hundred pods that list each three seconds are found, with their workload and both figures", () => {
  const sizes = 'verb="LIST",group="networking.k8s.io",resource="ingresses"';
  const metrics = (count: number): string =>
    `apiserver_response_sizes_sum{${sizes}} ${count * 2_000_000}\napiserver_response_sizes_count{${sizes}} ${count}\n`;
  const asked = { clients: 100, every: 3, extra: ofPod };
  const { before, after } = sampled(metrics(10), metrics(20));
  const [verdict, ...more] = judge(asked, { before, after });
  assert.equal(more.length, 0);
  assert.equal(verdict?.culprit, `deployment edge/proxy, proxy/1 (${account})`);
  assert.equal(verdict.severity, "warn");
  assert.deepEqual(verdict.figures, {
    pods: 100,
    listsPerSecondBefore: 36.7,
    listsPerSecondAfter: 0,
    bytesPerSecondBefore: 73_333_333,
    watchesBefore: 0,
    watchesAfter: 1,
  });
  assert.equal(verdict.certainty, 0.95);
});

test("pods behind one address count as their workload's replicas", () => {
  const sourceIPs = { sourceIPs: ["10.0.0.1"] };
  const [verdict] = judge({ clients: 100, every: 3, extra: () => sourceIPs });
  assert.equal(verdict?.figures["pods"], 100);
  const [shared] = judge(
    { clients: 100, every: 3, extra: ofPod },
    { workloads: [proxy, { ...proxy, name: "other", replicas: 3 }] },
  );
  assert.match(shared?.unseen ?? "", /which of 2 workloads/);
  assert.doesNotMatch(shared?.manifest ?? "", /patch/);
});

test("a hundred pods that watch all of a resource are found, but not one for each node", () => {
  const watching = { clients: 100, every: seconds + 1, verb: "watch", extra: ofPod } as const;
  assert.equal(judge(watching)[0]?.figures["watchesBefore"], 100);
  const nodeLeases = Array.from({ length: 100 }, (_, at): SeenObject => named(`n${at}`));
  const { objects } = evidenceOf({});
  assert.deepEqual(judge(watching, { objects: { ...objects, nodeLeases } }), []);
  assert.deepEqual(judge(watching, { workloads: [{ ...proxy, kind: "daemonset" }] }), []);
});

test("a hundred kubelets, one busy controller, few replicas, rare lists and no log are well", () => {
  assert.deepEqual(judge({ clients: 100, every: 3, user: (at) => `system:node:n${at}` }), []);
  assert.deepEqual(judge({ clients: 100, every: 3, user: (at) => `ops-${at}` }), []);
  assert.deepEqual(
    judge({ clients: 40, every: 1 }, { workloads: [{ ...proxy, replicas: 1 }] }),
    [],
  );
  assert.deepEqual(judge({ clients: 9, every: 1, extra: ofPod }), []);
  assert.deepEqual(judge({ clients: 40, every: 15, extra: ofPod }), []);
  assert.deepEqual(fanOut.judge(evidenceOf({ workloads: [proxy] })), []);
});

test("the manifest is values of the chart and a patch of the workload, whatever it is called", () => {
  const hostile = 'a"\n---\nkind: ClusterRole\n# $(id) \u2028';
  const [verdict] = judge(
    { clients: 100, every: 3, extra: ofPod },
    { workloads: [{ ...proxy, name: hostile, containers: [hostile] }] },
  );
  const documents = parseAllDocuments(verdict?.manifest ?? "");
  assert.deepEqual(
    documents.map(({ errors }) => errors),
    [[], []],
  );
  const [values, patch] = documents.map((one) => one.toJS() as Record<string, never>);
  assert.deepEqual(values, { relay: { resources: ["networking.k8s.io/v1/ingresses"] } });
  assert.deepEqual(Object.keys(patch ?? {}), ["spec"]);
  assert.ok(JSON.stringify(patch).includes("KUBERNETES_SERVICE_HOST"));
});

test("the namespaces of busy callers are looked at, a few of them", () => {
  const audit = logOf({
    clients: 300,
    every: 1,
    user: (at) => `system:serviceaccount:ns${at % 10}:p`,
  });
  assert.equal(namespacesOfCrowds({ audit }, 8).length, 8);
  assert.deepEqual(namespacesOfCrowds({ audit: logOf({ clients: 1, every: 3 }) }, 8), []);
});
