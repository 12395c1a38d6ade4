/**
 * The drill: a home, three regions over ways that can be cut, and a coordinator that is killed at every step. Placed, scaled, rolled
 * out, drained, cut off both ways, a plane killed and back. Beside it an observer asks the planes themselves, all the time: the sum of
 * ready replicas stays within what budgets, surges and losses allow, and a whole workload is never in two regions.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { AnyObject } from "#api/object.ts";
import type { Client } from "#client/client.ts";
import { CutWay } from "./cut-way.ts";
import { pilothouse, removeDirectory, temporaryDirectory } from "./harness.ts";
import { type Asking, clientOf, type RunningRole, startRole, until } from "./role-harness.ts";
import { freePort } from "./stock-apiserver.ts";

const apps = (resource: string) => ({ group: "apps", version: "v1", resource });
const deployments = apps("deployments");
const statefulSets = apps("statefulsets");
const placements = { group: "regions.pilothouse.dev", version: "v1alpha1", resource: "placements" };
const profiles = {
  group: "multicluster.x-k8s.io",
  version: "v1alpha1",
  resource: "clusterprofiles",
};
const names = ["eu", "us", "ap"];

interface Bounds {
  readonly least: number;
  readonly most: number;
}

void describe("the drill of three regions", { timeout: 400_000 }, () => {
  const directory = temporaryDirectory("regions-drill");
  const file = (name: string): string => join(directory, name, "kubeconfig");
  const running = new Map<string, RunningRole>();
  const ports = new Map<string, number>();
  const ways = new Map<string, CutWay>();
  const clients = new Map<string, Client>();
  const asking: Asking[] = [];
  const problems: string[] = [];
  let bounds: Bounds = { least: 0, most: 0 };
  let isWatching = true;
  let watching: Promise<void> | undefined;
  let home: Client;

  async function open(name: string): Promise<Client> {
    const opened = await clientOf(file(name));
    asking.push(opened);
    return opened.client;
  }

  async function startRegion(name: string): Promise<void> {
    const port = ports.get(name) ?? (await freePort());
    ports.set(name, port);
    const data = ["--data-dir", join(directory, name), "--port", String(port)];
    running.set(name, await startRole(["up", ...data, "--nodes", "2"]));
  }

  async function startCoordinator(): Promise<void> {
    const quick = ["--region-unknown-after", "5s", "--leader-elect=false", "--secure-port", "0"];
    const role = await startRole(["coordinator", "--kubeconfig", file("home"), ...quick]);
    running.set("coordinator", role);
  }

  /** What is changed is all that the next one finds. */
  async function killedAfter(change: () => Promise<unknown>): Promise<void> {
    await change();
    await running.get("coordinator")?.kill();
    await startCoordinator();
  }

  function region(...args: readonly string[]): Promise<void> {
    const { code, stderr } = pilothouse(["region", ...args, "--coordinator", file("home")]);
    assert.equal(code, 0, stderr);
    return Promise.resolve();
  }

  function scale(replicas: number): Promise<unknown> {
    return home.patch(deployments, "default", "web", "merge", { spec: { replicas } });
  }

  async function readyIn(name: string): Promise<number> {
    const web = await clients
      .get(name)
      ?.get<AnyObject>(deployments, "default", "web")
      .catch(() => undefined);
    return ((web?.["status"] ?? {}) as { readonly readyReplicas?: number }).readyReplicas ?? 0;
  }

  function ready(replicas: number): Promise<true> {
    return until(`${replicas} ready replicas in all`, async () => {
      const each = await Promise.all(names.map(readyIn));
      return each.reduce((a, b) => a + b, 0) === replicas ? true : undefined;
    });
  }

  /** Planes are not asked at one moment: what holds for both of two looks held between them. */
  async function watch(): Promise<void> {
    while (isWatching) {
      const { least, most } = bounds;
      const one = await Promise.all(names.map(readyIn));
      const other = await Promise.all(names.map(readyIn));
      const isSameStep = bounds.least === least && bounds.most === most;
      const sum = (of: (a: number, b: number) => number): number =>
        one.reduce((all, count, at) => all + of(count, other[at] ?? 0), 0);
      const seen = `${one.join("+")} and ${other.join("+")} ready, ${least} to ${most} allowed`;
      if (isSameStep && (sum(Math.max) < least || sum(Math.min) > most)) problems.push(seen);
      const holders = await Promise.all(names.map(holdsWhole));
      if (holders.filter(Boolean).length > 1) problems.push("the whole workload is in two regions");
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  async function holdsWhole(name: string): Promise<boolean> {
    const db = await clients
      .get(name)
      ?.get<AnyObject>(statefulSets, "default", "db")
      .catch(() => undefined);
    return Number((db?.["spec"] as { readonly replicas?: number } | undefined)?.replicas ?? 0) > 0;
  }

  function healthy(name: string, status: string): Promise<true> {
    return until(`${name} ${status}`, async () => {
      const profile = await home.get<AnyObject>(profiles, "pilothouse-regions", name);
      return JSON.stringify(profile["status"] ?? {}).includes(
        `"ControlPlaneHealthy","status":"${status}"`,
      )
        ? true
        : undefined;
    });
  }

  /** Whole pods: what a rolling update of each region may lack or have too much, and the surge of a move. */
  function allow(replicas: number, { lost = 0 } = {}): void {
    bounds = {
      least: Math.floor((replicas - lost) * 0.75) - 2,
      most: Math.ceil(replicas * 1.5) + 3,
    };
  }

  before(async () => {
    const args = ["--data-dir", join(directory, "home"), "--secure-port", "0"];
    const [role] = await Promise.all([
      startRole(["apiserver", ...args]),
      ...names.map(startRegion),
    ]);
    running.set("home", role);
    home = await open("home");
    for (const name of names) {
      clients.set(name, await open(name));
      const way = new CutWay(ports.get(name) ?? 0);
      ways.set(name, way);
      const server = ["--server", `https://127.0.0.1:${await way.listen()}`];
      await region("join", "--kubeconfig", file(name), "--name", name, ...server);
    }
    await startCoordinator();
  });

  after(async () => {
    isWatching = false;
    await watching;
    for (const one of asking) one.close();
    for (const way of ways.values()) way.close();
    await Promise.all([...running.values()].map((role) => role.kill()));
    removeDirectory(directory);
  });

  it("places, scales, rolls out and drains while the coordinator is killed each time", async () => {
    const workload = (name: string, replicas: number): AnyObject => ({
      metadata: { name },
      spec: {
        replicas,
        serviceName: name,
        selector: { matchLabels: { app: name } },
        template: {
          metadata: { labels: { app: name } },
          spec: { containers: [{ name: "main", image: "web:1" }] },
        },
      },
    });
    const { serviceName: _, ...spec } = workload("web", 6)["spec"] as Record<string, unknown>;
    await home.create<AnyObject>(deployments, "default", { metadata: { name: "web" }, spec });
    await home.create<AnyObject>(statefulSets, "default", workload("db", 1));
    await home.create<AnyObject>(placements, "default", {
      apiVersion: "regions.pilothouse.dev/v1alpha1",
      kind: "Placement",
      metadata: { name: "all" },
      spec: {
        resources: [
          { apiVersion: "apps/v1", kind: "Deployment" },
          { apiVersion: "apps/v1", kind: "StatefulSet" },
        ],
      },
    });
    await ready(6);
    allow(6);
    watching = watch();
    await killedAfter(() => scale(9));
    await ready(9);
    allow(9);
    const containers = [{ name: "main", image: "web:2" }];
    await killedAfter(() =>
      home.patch(deployments, "default", "web", "merge", {
        spec: { template: { spec: { containers } } },
      }),
    );
    await ready(9);
    await killedAfter(() => region("drain", "us"));
    await until("us is empty", async () => ((await readyIn("us")) === 0 ? true : undefined));
    await ready(9);
    await killedAfter(() => region("drain", "us", "--undo"));
    await until("us is used again", async () => ((await readyIn("us")) > 0 ? true : undefined));
    await ready(9);
    assert.deepEqual(problems, []);
  });

  it("leaves a region alone that is cut off both ways, and heals", async () => {
    const way = ways.get("eu") ?? assert.fail();
    const before = await readyIn("eu");
    way.isCut = true;
    await healthy("eu", "Unknown");
    await killedAfter(() => scale(12));
    await ready(12);
    assert.equal(await readyIn("eu"), before, "what it runs goes on");
    allow(12);
    way.isCut = false;
    await healthy("eu", "True");
    await ready(12);
    assert.deepEqual(problems, []);
  });

  it("makes up for a plane that is killed, and takes the excess down when it is back", async () => {
    // An operator's word moves whole workloads too, and is for what runs no more: here the plane comes back with what it had.
    const holds = await Promise.all(names.map(holdsWhole));
    const name = names.find((_, at) => holds[at] === false) ?? assert.fail();
    allow(12, { lost: await readyIn(name) });
    await running.get(name)?.kill();
    await killedAfter(() => region("lost", name));
    await ready(12);
    await startRegion(name);
    await healthy(name, "True");
    await killedAfter(() => region("lost", name, "--undo"));
    await until(`${name} is used again`, async () =>
      (await readyIn(name)) > 0 ? true : undefined,
    );
    await ready(12);
    assert.deepEqual(problems, []);
  });
});
