/** /metrics/resources of the scheduler: which Pods, which amounts, in which units. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "#api/gen/types.ts";
import { podResourceMetrics } from "./pod-resource-metrics.ts";

function pod(name: string, spec: object, phase = "Running"): Pod {
  const all = { schedulerName: "default-scheduler", containers: [], ...spec };
  return { metadata: { name, namespace: "default" }, spec: all, status: { phase } } as Pod;
}

function seriesOf(...pods: readonly Pod[]): readonly string[] {
  const lines = podResourceMetrics(() => pods)
    .text()
    .split("\n");
  return lines.filter((line) => line !== "" && !line.startsWith("#"));
}

const requests = { cpu: "250m", memory: "64Mi" };
const main = { name: "main", resources: { requests, limits: { memory: "128Mi" } } };
const labelled = (name: string, node: string, rest: string): string =>
  `{namespace="default",node="${node}",pod="${name}",priority="7",${rest}}`;

test("a Pod's requests and limits, with init containers and overhead", () => {
  const init = { name: "init", resources: { requests: { cpu: "1" } } };
  const overhead = { cpu: "50m", memory: "1Mi" };
  const spec = { nodeName: "a", priority: 7, containers: [main], initContainers: [init], overhead };
  const of = (rest: string): string => labelled("web", "a", rest);
  assert.deepEqual(seriesOf(pod("web", spec)), [
    `kube_pod_resource_limit${of('resource="memory",scheduler="default-scheduler",unit="bytes"')} 135266304`,
    `kube_pod_resource_request${of('resource="cpu",scheduler="default-scheduler",unit="cores"')} 1.05`,
    `kube_pod_resource_request${of('resource="memory",scheduler="default-scheduler",unit="bytes"')} 68157440`,
  ]);
});

test("Pods that wait are shown without a node, Pods that have ended are not", () => {
  const waits = seriesOf(pod("waits", { priority: 7, containers: [main] }, "Pending"));
  assert.equal(waits.length, 3);
  assert.ok(waits.every((line) => line.includes('node="",pod="waits"')));
  for (const phase of ["Succeeded", "Failed"])
    assert.deepEqual(seriesOf(pod("done", { nodeName: "a", containers: [main] }, phase)), []);
});

test("units of other resources; zeros are left out; names cannot break a line", () => {
  const odd = {
    "hugepages-2Mi": "2Mi",
    "attachable-volumes-x": "3",
    "example.com/gpu": "2",
    cpu: "0",
    toString: "1",
  };
  const lines = seriesOf(
    pod('a"\n', { containers: [{ name: "c", resources: { requests: odd } }] }),
  );
  const units = lines.map((line) =>
    /resource="([^"]*)".*unit="([^"]*)"\} (\S+)$/.exec(line)?.slice(1),
  );
  assert.deepEqual(units.toSorted(), [
    ["attachable-volumes-x", "integer", "3"],
    ["example.com/gpu", "", "2"],
    ["hugepages-2Mi", "bytes", "2097152"],
    ["toString", "", "1"],
  ]);
  assert.ok(lines.every((line) => line.includes('pod="a\\"\\n"')));
});
