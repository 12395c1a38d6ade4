/** A stock kube-apiserver as home: it takes the definitions and the policy, and a region of ours is placed into from there. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { startEtcd, type TestServer } from "#etcd/testing/servers.ts";
import { pilothouse, removeDirectory, temporaryDirectory } from "./harness.ts";
import { findPeer, noStock, stockPrograms } from "./peers.ts";
import { type Asking, clientOf, type RunningRole, startRole, until } from "./role-harness.ts";
import { startApiServer, type StockApiServer } from "./stock-apiserver.ts";

const etcdProgram = findPeer("etcd");
const stockProgram = stockPrograms()?.apiserver;
const deployments = { group: "apps", version: "v1", resource: "deployments" };
const placements = { group: "regions.pilothouse.dev", version: "v1alpha1", resource: "placements" };
const policies = {
  group: "admissionregistration.k8s.io",
  version: "v1",
  resource: "validatingadmissionpolicies",
};
const skip = etcdProgram === undefined || stockProgram === undefined ? noStock : false;

void describe("a stock API server as home", { skip, timeout: 300_000 }, () => {
  const directory = temporaryDirectory("regions-stock");
  const running: RunningRole[] = [];
  let etcd: TestServer | undefined;
  let home: StockApiServer | undefined;
  let asking: Asking | undefined;

  before(async () => {
    etcd = await startEtcd(etcdProgram ?? "");
    const args = [`--etcd-servers=${etcd.url}`];
    home = await startApiServer(stockProgram ?? "", join(directory, "home"), args);
    running.push(
      await startRole(["up", "--data-dir", join(directory, "eu"), "--port", "0", "--nodes", "1"]),
    );
    const where = ["--coordinator", home.kubeconfig, "--name", "eu"];
    const of = ["--kubeconfig", join(directory, "eu", "kubeconfig")];
    const { code, stderr } = pilothouse(["region", "join", ...of, ...where]);
    assert.equal(code, 0, stderr);
    const quick = ["--leader-elect=false", "--secure-port", "0"];
    running.push(await startRole(["coordinator", "--kubeconfig", home.kubeconfig, ...quick]));
    asking = await clientOf(home.kubeconfig);
  });

  after(async () => {
    asking?.close();
    await Promise.all(running.map((role) => role.kill()));
    await home?.stop();
    await etcd?.close();
    removeDirectory(directory);
  });

  it("places a Deployment, and the stock server's object has the status of the whole", async () => {
    const client = asking?.client ?? assert.fail();
    await client.create<AnyObject>(deployments, "default", {
      metadata: { name: "web" },
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: "web" } },
        template: {
          metadata: { labels: { app: "web" } },
          spec: { containers: [{ name: "main", image: "web" }] },
        },
      },
    });
    await client.create<AnyObject>(placements, "default", {
      apiVersion: "regions.pilothouse.dev/v1alpha1",
      kind: "Placement",
      metadata: { name: "web" },
      spec: { resources: [{ apiVersion: "apps/v1", kind: "Deployment", name: "web" }] },
    });
    const status = await until("two replicas that are ready", async () => {
      const web = await client.get<AnyObject>(deployments, "default", "web");
      const status = (web["status"] ?? {}) as { readonly readyReplicas?: number };
      return status.readyReplicas === 2 ? status : undefined;
    });
    assert.equal(status.readyReplicas, 2);
  });

  it("finds nothing wrong with the policy's expressions, and refuses what the schema forbids", async () => {
    const client = asking?.client ?? assert.fail();
    const policy = await client.get<AnyObject>(policies, "", "placements.regions.pilothouse.dev");
    assert.equal(policy.kind, "ValidatingAdmissionPolicy");
    const refused = client.create<AnyObject>(placements, "default", {
      apiVersion: "regions.pilothouse.dev/v1alpha1",
      kind: "Placement",
      metadata: { name: "bad" },
      spec: { resources: [], failover: { afterSeconds: 1 } },
    });
    await assert.rejects(refused, /spec.resources.*should have at least 1 items/s);
  });
});
