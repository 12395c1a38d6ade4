/**
 * Roles beside stock components: ours before a stock API server, stock ones before ours. Each pair runs a
 * Deployment to its end. Skipped where the stock programs are absent.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { ConfigMap, Deployment, Lease } from "#api/gen/types.ts";
import type { Client } from "#client/client.ts";
import { leaseResource } from "#client/election.ts";
import { type StockServer, startStock } from "../differential/servers.ts";
import { removeDirectory, temporaryDirectory } from "./harness.ts";
import { expectTypeWarnings } from "./policy-status.ts";
import { findPeer, noPeer, noStock, stockPrograms } from "./peers.ts";
import {
  type Asking,
  clientOf,
  type RunningRole,
  startProgram,
  startRole,
  until,
} from "./role-harness.ts";

const deployments = { group: "apps", version: "v1", resource: "deployments" };
const programs = stockPrograms();
const manager = findPeer("kube-controller-manager");
const scheduler = findPeer("kube-scheduler");
const noStockLoops =
  manager === undefined
    ? noPeer("kube-controller-manager")
    : scheduler === undefined && noPeer("kube-scheduler");

async function runDeployment(client: Client): Promise<void> {
  await client.create<Deployment>(deployments, "default", {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec: {
      replicas: 4,
      selector: { matchLabels: { app: "web" } },
      template: {
        metadata: { labels: { app: "web" } },
        spec: { containers: [{ name: "main", image: "nginx" }] },
      },
    },
  });
  await until("four available replicas", async () => {
    const { status } = await client.get<Deployment>(deployments, "default", "web");
    return status?.availableReplicas === 4 ? true : undefined;
  });
}

function holder(client: Client, name: string): Promise<string> {
  return until(`a holder of Lease ${name}`, async () => {
    const lease = await client
      .get<Lease>(leaseResource, "kube-system", name)
      .catch(() => undefined);
    return lease?.spec?.holderIdentity || undefined;
  });
}

const skipOurs = programs === undefined ? noStock : false;

void describe(
  "scheduler, controller-manager and hollow before a stock API server",
  { skip: skipOurs, timeout: 240_000 },
  () => {
    const running: RunningRole[] = [];
    let stock: StockServer;
    let asking: Asking;

    before(async () => {
      assert.ok(programs !== undefined);
      stock = await startStock(programs);
      asking = await clientOf(stock.kubeconfig);
      const access = ["--kubeconfig", stock.kubeconfig];
      const own = [
        "--use-service-account-credentials",
        "--root-ca-file",
        join(stock.pki, "apiserver.crt"),
      ];
      const roles = [
        ["scheduler", ...access, "--secure-port", "0"],
        ["controller-manager", ...access, "--secure-port", "0", ...own],
        ["hollow", ...access, "--nodes", "3"],
      ];
      for (const args of roles) running.push(await startRole(args));
    });
    after(async () => {
      asking?.close();
      await Promise.allSettled(running.map((role) => role.kill()));
      await stock?.stop();
    });

    it("run a Deployment", async () => {
      await runDeployment(asking.client);
      assert.match(await holder(asking.client, "kube-scheduler"), /_/);
    });

    it("check the types of a policy", () => expectTypeWarnings(asking.client));
  },
);

void describe(
  "a stock scheduler and controller manager before our API server",
  { skip: noStockLoops, timeout: 240_000 },
  () => {
    const directory = temporaryDirectory("roles-stock");
    const data = join(directory, "data");
    const running: RunningRole[] = [];
    let asking: Asking;

    before(async () => {
      running.push(await startRole(["apiserver", "--data-dir", data, "--secure-port", "0"]));
      asking = await clientOf(join(data, "kubeconfig"));
      running.push(
        await startRole(["hollow", "--kubeconfig", join(data, "kubeconfig"), "--nodes", "3"]),
      );
      const pki = (file: string): string => join(data, "pki", file);
      const common = ["--secure-port=0", "--bind-address=127.0.0.1"];
      const schedulerArgs = [`--kubeconfig=${join(data, "scheduler.conf")}`, ...common];
      const managerArgs = [
        `--kubeconfig=${join(data, "controller-manager.conf")}`,
        "--use-service-account-credentials",
        `--service-account-private-key-file=${pki("sa.key")}`,
        `--root-ca-file=${pki("ca.crt")}`,
        ...common,
      ];
      const leads = /Successfully acquired lease/;
      running.push(await startProgram(scheduler ?? "", schedulerArgs, leads));
      running.push(await startProgram(manager ?? "", managerArgs, leads));
    });
    after(async () => {
      asking?.close();
      await Promise.allSettled(running.map((role) => role.kill()));
      removeDirectory(directory);
    });

    it("run a Deployment", () => runDeployment(asking.client));

    it("find what kube-apiserver keeps for them", async () => {
      const { client } = asking;
      const maps = { group: "", version: "v1", resource: "configmaps" };
      const name = "kube-apiserver-legacy-service-account-token-tracking";
      const tracking = await client.get<ConfigMap>(maps, "kube-system", name);
      assert.match(tracking.data?.["since"] ?? "", /^\d{4}-\d{2}-\d{2}$/);
      const labelSelector = "apiserver.kubernetes.io/identity=kube-apiserver";
      const leases = await client.list<Lease>(leaseResource, {
        namespace: "kube-system",
        labelSelector,
      });
      assert.equal(leases.items.length, 1);
      assert.match(leases.items[0]?.metadata?.name ?? "", /^apiserver-[a-z0-9]{26}$/);
    });

    it("hand the cluster to ours and back", async () => {
      const { client } = asking;
      const before = await holder(client, "kube-scheduler");
      await running[2]?.stop();
      const access = ["--kubeconfig", join(data, "scheduler.conf"), "--secure-port", "0"];
      running.push(await startRole(["scheduler", ...access]));
      const next = await until("ours as the holder", async () => {
        const now = await holder(client, "kube-scheduler");
        return now === before ? undefined : now;
      });
      assert.notEqual(next, before);
    });
  },
);
