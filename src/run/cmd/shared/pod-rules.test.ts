/** kwok's usage and log objects, read from their documents. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "#api/gen/types.ts";
import { podUsage } from "#hollow/usage.ts";
import { readDocuments } from "#stages/kwok-file.ts";
import { logFile } from "./log-files.ts";
import { podRuleKinds, readPodRules } from "./pod-rules.ts";

const text = `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: ClusterResourceUsage
metadata: { name: all }
spec:
  selector: { matchNamespaces: [shop] }
  usages:
  - usage: { cpu: { value: 100m }, memory: { value: 10Mi } }
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: ResourceUsage
metadata: { name: web, namespace: shop }
spec:
  usages:
  - containers: [main]
    usage: { cpu: { value: 2 } }
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: ClusterLogs
metadata: { name: logs }
spec:
  logs:
  - { containers: [main], logsFile: /var/log/main.log }
`;

function pod(name: string, namespace: string, annotations: Record<string, string> = {}): Pod {
  return {
    metadata: { name, namespace, annotations },
    spec: { containers: [{ name: "main" }, { name: "side" }] },
    status: { phase: "Running" },
  };
}

function rulesOf(yaml: string) {
  const { objects, problems } = readDocuments(yaml, podRuleKinds);
  assert.deepEqual(problems, []);
  return readPodRules(objects);
}

test("a rule for the pod goes before one for its namespace, and an annotation before both", () => {
  const { usage } = rulesOf(text);
  const cpu = (of: Pod) => podUsage(of, usage).map(({ cpuNanos }) => Number(cpuNanos) / 1e6);
  assert.deepEqual(cpu(pod("web", "shop")), [2_000, 100]);
  assert.deepEqual(cpu(pod("api", "shop")), [100, 100]);
  assert.deepEqual(cpu(pod("api", "other")), [1, 1]);
  assert.deepEqual(cpu(pod("web", "shop", { "kwok.x-k8s.io/usage-cpu": "5m" })), [5, 5]);
});

test("a log is the file of the first rule that fits", () => {
  const { logs } = rulesOf(text);
  const of = { namespace: "shop", pod: "web", container: "main" };
  assert.equal(logFile(logs, of, new URLSearchParams()), "/var/log/main.log");
  assert.equal(logFile(logs, of, new URLSearchParams("previous=true")), undefined);
  assert.equal(logFile(logs, { ...of, container: "side" }, new URLSearchParams()), undefined);
});

test("what is not read is named", () => {
  const usage = { cpu: { expression: "1" }, memory: { value: "much" } };
  const spec = { selector: {}, usages: [{ usage }] };
  const { problems } = readPodRules([{ kind: "ClusterResourceUsage", spec }]);
  assert.match(
    problems.join(),
    /cpu.expression: is not read here.*memory.value: must be a quantity/,
  );
});
