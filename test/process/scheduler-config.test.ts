/** The scheduler with a KubeSchedulerConfiguration: profiles and an extender that is a program of its own. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Node, Pod } from "#api/gen/types.ts";
import type { Client } from "#client/client.ts";
import { removeDirectory, root, temporaryDirectory } from "./harness.ts";
import {
  type Asking,
  clientOf,
  nodeOf,
  podsRef,
  type RunningRole,
  startProgram,
  startRole,
  until,
} from "./role-harness.ts";

const accountsRef = { group: "", version: "v1", resource: "serviceaccounts" };
const nodesRef = { group: "", version: "v1", resource: "nodes" };

void describe("a scheduler with a configuration", { timeout: 180_000 }, () => {
  const directory = temporaryDirectory("scheduler-config");
  const data = join(directory, "data");
  const running: RunningRole[] = [];
  let asking: Asking;
  let client: Client;
  let names: readonly string[] = [];
  let extender: RunningRole;

  before(async () => {
    running.push(await startRole(["apiserver", "--data-dir", data, "--secure-port", "0"]));
    const kubeconfig = join(data, "kubeconfig");
    asking = await clientOf(kubeconfig);
    client = asking.client;
    const key = join(data, "pki", "sa.key");
    const accounts = [
      "--use-service-account-credentials",
      "--service-account-private-key-file",
      key,
    ];
    const manager = ["--kubeconfig", join(data, "controller-manager.conf"), "--secure-port", "0"];
    running.push(await startRole(["controller-manager", ...manager, ...accounts]));
    running.push(await startRole(["hollow", "--kubeconfig", kubeconfig, "--nodes", "3"]));
    names = await until("three nodes without taints", async () => {
      const { items } = await client.list<Node>(nodesRef, {});
      const free = items.filter(({ spec }) => (spec?.taints ?? []).length === 0);
      return free.length === 3 ? free.map(({ metadata }) => metadata?.name ?? "") : undefined;
    });
    names = names.toSorted();
    const program = join(root, "test", "process", "extender-program.ts");
    extender = await startProgram(process.execPath, [program, names[2] ?? ""], /ready in port/);
    running.push(extender);
    const port = /port (\d+)/.exec(extender.output())?.[1];
    const config = join(directory, "scheduler.yaml");
    writeFileSync(config, configText(join(data, "scheduler.conf"), port ?? ""));
    running.push(await startRole(["scheduler", "--config", config, "--secure-port", "0"]));
  });
  after(async () => {
    asking?.close();
    await Promise.allSettled(running.map((role) => role.kill()));
    removeDirectory(directory);
  });

  async function create(name: string, spec: Partial<Pod["spec"]> = {}): Promise<Pod> {
    const container = { name: "main", image: "nginx" };
    await until("a service account", () =>
      client.get(accountsRef, "default", "default").catch(() => undefined),
    );
    return client.create<Pod>(podsRef, "default", {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace: "default" },
      spec: { containers: [container], ...spec },
    });
  }

  it("asks its extender, which filters and has a favourite", async () => {
    for (const name of ["a", "b", "c"]) await create(name);
    for (const name of ["a", "b", "c"]) assert.equal(await nodeOf(client, name), names[1]);
    assert.match(extender.output(), /asked \/api\/filter about a/);
    assert.match(extender.output(), /asked \/api\/prioritize about a/);
  });

  it("says what the extender refused", async () => {
    await create("pinned", { nodeSelector: { "kubernetes.io/hostname": names[2] ?? "" } });
    const message = await until("a verdict", async () => {
      const pod = await client.get<Pod>(podsRef, "default", "pinned");
      return pod.status?.conditions?.find(({ type }) => type === "PodScheduled")?.message;
    });
    assert.match(
      message,
      /^0\/3 nodes are available: 1 node\(s\) kept by the extender, 2 node\(s\) didn't match Pod's node affinity\/selector\. preemption: /,
    );
  });

  it("goes on without the extender, which is ignorable, under a second profile too", async () => {
    await extender.kill();
    await create("later");
    await nodeOf(client, "later");
    await create("second", { schedulerName: "second" });
    await nodeOf(client, "second");
  });

  it("names the field of a configuration that it refuses", async () => {
    const config = join(directory, "bad.yaml");
    const text = configText(join(data, "scheduler.conf"), "1");
    writeFileSync(config, `${text}percentageOfNodesToScore: 101\n`);
    await assert.rejects(
      startRole(["scheduler", "--config", config, "--secure-port", "0"]),
      /percentageOfNodesToScore: Invalid value: 101: not in valid range \[0-100\]/,
    );
  });
});

function configText(kubeconfig: string, port: string): string {
  return `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: { kubeconfig: ${JSON.stringify(kubeconfig)} }
leaderElection: { leaderElect: false }
profiles:
- schedulerName: default-scheduler
- schedulerName: second
extenders:
- urlPrefix: http://127.0.0.1:${port}/api
  filterVerb: filter
  prioritizeVerb: prioritize
  weight: 100
  nodeCacheCapable: true
  ignorable: true
`;
}
