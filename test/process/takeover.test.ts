/** Our controllers and a stock kube-controller-manager take over from each other. `npm run takeover` has 50 of each. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { findPeer, noPeer } from "./peers.ts";
import { faultsOf, tableRow, type Takeover } from "./takeover-report.ts";
import { runTakeovers } from "./takeover-run.ts";
import type { World } from "./takeover-load.ts";

const program = findPeer("kube-controller-manager");
const skip = program === undefined ? noPeer("kube-controller-manager") : false;

test(
  "a stock controller manager and ours take over amid rollouts: no pod lost, nothing written twice",
  { skip },
  async (t) => {
    const takeovers = await runTakeovers({
      program: program ?? "",
      each: 4,
      nodes: 2,
      stillMs: 10_000,
      settleMsMax: 120_000,
      note: (text) => t.diagnostic(text),
    });
    assert.deepEqual(takeovers.flatMap(faultsOf), []);
    assert.equal(takeovers.length, 2);
  },
);

const blank: World = {
  deployments: [],
  replicasets: [],
  statefulsets: [],
  daemonsets: [],
  controllerrevisions: [],
  jobs: [],
  cronjobs: [],
  pods: [],
  services: [],
  endpointslices: [],
};

const made = (name: string, uid: string, more: object = {}) => ({
  metadata: { name, uid, resourceVersion: "1", ownerReferences: [], ...more },
});

function daemonSet(image: string): World["daemonsets"][number] {
  const template = { spec: { containers: [{ name: "c", image }] } };
  return { ...made("agent-0", "d"), spec: { selector: {}, template } };
}

function podOf(uid: string, image: string, restartCount = 0): World["pods"][number] {
  return {
    ...made(`agent-0-${uid}`, uid, { labels: { app: "agent-0" } }),
    spec: { containers: [{ name: "c", image }] },
    status: { containerStatuses: [{ name: "c", image, imageID: "", ready: true, restartCount }] },
  };
}

test("the report finds lost pods, restarts, needless revisions and writes", () => {
  const owner = { apiVersion: "apps/v1", kind: "DaemonSet", name: "agent-0", uid: "d" };
  const revision = { ...made("agent-0-x", "r", { ownerReferences: [owner] }), revision: 1 };
  const before = {
    ...blank,
    daemonsets: [daemonSet("a")],
    pods: [podOf("1", "a"), podOf("2", "b")],
  };
  const after = { ...before, pods: [podOf("3", "a", 1)], controllerrevisions: [revision] };
  const written = {
    ...daemonSet("a"),
    metadata: { name: "agent-0", uid: "d", resourceVersion: "2" },
  };
  const still = { ...after, daemonsets: [written], pods: [] };
  const takeover: Takeover = { from: "ours", to: "stock", before, after, still, settleMs: 1500 };
  assert.deepEqual(faultsOf(takeover), [
    "pods that were lost: agent-0-1",
    "revisions nobody needed: agent-0-x",
    "objects written while left alone: agent-0, 1 that are gone",
    "1 restarts",
  ]);
  assert.equal(tableRow(takeover), "| ours | stock | 1 | 2 | 1.5 s | 1 | 1 | 1 | 2 |");
});

test("a takeover that changes nothing is no fault", () => {
  const world = { ...blank, daemonsets: [daemonSet("a")], pods: [podOf("1", "a")] };
  const same = { from: "stock", to: "ours", before: world, after: world, still: world };
  assert.deepEqual(faultsOf({ ...same, settleMs: 0 }), []);
});
