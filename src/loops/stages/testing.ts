/** A fake API with a stage service on a fake clock, and one node for the pods. */
import type { AnyObject } from "#api/object.ts";
import { assert } from "#base/assert.ts";
import type { FakeApi } from "#client/testing/fake-api.ts";
import { createFakeApi } from "#client/testing/fake-api.ts";
import { runReflector } from "#client/reflector.ts";
import { silentLog } from "#platform/log.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { readDocuments, stagesOf } from "./kwok-file.ts";
import { StageService } from "./stage-service.ts";

export const refs = {
  pods: { group: "", version: "v1", resource: "pods" },
  nodes: { group: "", version: "v1", resource: "nodes" },
  configMaps: { group: "", version: "v1", resource: "configmaps" },
} as const;

const served = [
  { name: "pods", kind: "Pod", namespaced: true },
  { name: "nodes", kind: "Node", namespaced: false },
  { name: "configmaps", kind: "ConfigMap", namespaced: true },
];

export function readStages(text: string) {
  const { objects, problems } = readDocuments(text, ["Stage"]);
  const reading = stagesOf(objects);
  return { stages: reading.stages, problems: [...problems, ...reading.problems] };
}

export async function startStages(text: string, seed: (api: FakeApi) => void = () => {}) {
  const clock = new FakeClock();
  const api = createFakeApi({ clock });
  const raw = async (path: string): Promise<unknown> =>
    path === "/api/v1" ? { resources: served } : undefined;
  const client = new Proxy(api, {
    get: (target, name) => (name === "raw" ? raw : Reflect.get(target, name).bind?.(target)),
  });
  seed(api);
  const { stages, problems } = readStages(text);
  assert(problems.length === 0, problems.join("; "));
  const deps = { client, clock, random: new FakeRandom(7), log: silentLog };
  const service = new StageService(deps, {
    files: stages,
    isServed: false,
    version: "v0.0.0",
    writesInFlightMax: 4,
    nodeSelector: "",
    host: {
      hasNode: (name) => name.startsWith("node-"),
      nodeAddress: () => "10.0.0.1",
      nodePort: 10_250,
      podAddress: (_node, isHostNetwork) => (isHostNetwork ? "10.0.0.1" : "10.128.0.1"),
    },
  });
  const stop = new AbortController();
  const { signal } = stop;
  const running = [
    service.run(signal),
    runReflector(deps, { ref: refs.pods }, service.pods, signal),
    runReflector(deps, { ref: refs.nodes }, service.nodes, signal),
  ];
  await clock.advance(10);
  return {
    api,
    clock,
    service,
    get: (ref: { group: string; version: string; resource: string }, name: string) =>
      api.peek<AnyObject>(ref, ref.resource === "nodes" ? "" : "default", name),
    async end() {
      stop.abort();
      await Promise.all(running);
    },
  };
}
