/**
 * A drill: a home, two regions and a coordinator as processes. Placed, rolled out, scaled, drained; the coordinator and a region
 * are killed and come back. And what a placement may not be used for.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { notFound } from "#api/status.ts";
import type { Client } from "#client/client.ts";
import type { RegionConnection } from "#regions/coordinator/region-connection.ts";
import { RegionWriter } from "#regions/coordinator/region-writer.ts";
import { ApiConnection, apiAccess } from "#cmd/shared/api-access.ts";
import { freePort } from "./stock-apiserver.ts";
import { pilothouse, removeDirectory, temporaryDirectory } from "./harness.ts";
import { type Asking, clientOf, type RunningRole, startRole, until } from "./role-harness.ts";

const deployments = { group: "apps", version: "v1", resource: "deployments" };
const placements = { group: "regions.pilothouse.dev", version: "v1alpha1", resource: "placements" };
const profiles = {
  group: "multicluster.x-k8s.io",
  version: "v1alpha1",
  resource: "clusterprofiles",
};
const core = (resource: string) => ({ group: "", version: "v1", resource });
const rbac = (resource: string) => ({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  resource,
});

interface Status {
  readonly observedGeneration?: number;
  readonly readyReplicas?: number;
  readonly updatedReplicas?: number;
}

void describe("two regions and a coordinator", { timeout: 300_000 }, () => {
  const directory = temporaryDirectory("regions");
  const file = (name: string): string => join(directory, name, "kubeconfig");
  const running = new Map<string, RunningRole>();
  const ports = new Map<string, number>();
  const asking: Asking[] = [];
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
    running.set(
      "coordinator",
      await startRole(["coordinator", "--kubeconfig", file("home"), ...quick]),
    );
  }

  /** As an operator types it. */
  function region(...args: readonly string[]): void {
    const { code, stderr } = pilothouse(["region", ...args, "--coordinator", file("home")]);
    assert.equal(code, 0, stderr);
  }

  async function change(spec: object): Promise<void> {
    await home.patch(deployments, "default", "web", "merge", { spec });
  }

  /** What `kubectl rollout status` waits for. */
  function rolledOut(replicas: number): Promise<true> {
    return until(`${replicas} replicas of web`, async () => {
      const { metadata, ...web } = await home.get<AnyObject>(deployments, "default", "web");
      const status = (web["status"] ?? {}) as Status;
      const isSeen = status.observedGeneration === metadata?.generation;
      const isDone = status.updatedReplicas === replicas && status.readyReplicas === replicas;
      return isSeen && isDone ? true : undefined;
    });
  }

  function replicasIn(client: Client, replicas: number): Promise<true> {
    return until(`${replicas} replicas in a region`, async () => {
      const web = await client.get<AnyObject>(deployments, "default", "web").catch(() => undefined);
      const asked = (web?.["spec"] as { readonly replicas?: number } | undefined)?.replicas ?? 0;
      return asked === replicas ? true : undefined;
    });
  }

  before(async () => {
    const port = ["--data-dir", join(directory, "home"), "--secure-port", "0"];
    running.set("home", await startRole(["apiserver", ...port]));
    await Promise.all([startRegion("eu"), startRegion("us")]);
    home = await open("home");
    for (const name of ["eu", "us"]) {
      region("join", "--kubeconfig", file(name), "--name", name, "--services");
    }
    await startCoordinator();
  });

  after(async () => {
    for (const one of asking) one.close();
    await Promise.all([...running.values()].map((role) => role.kill()));
    removeDirectory(directory);
  });

  it("places, rolls out, scales and drains, and the status of the whole says when it is done", async () => {
    const [eu, us] = [await open("eu"), await open("us")];
    const containers = [{ name: "main", image: "web:1" }];
    await home.create<AnyObject>(deployments, "default", {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web", labels: { app: "web" } },
      spec: {
        replicas: 4,
        selector: { matchLabels: { app: "web" } },
        template: { metadata: { labels: { app: "web" } }, spec: { containers } },
      },
    });
    await home.create<AnyObject>(placements, "default", {
      apiVersion: "regions.pilothouse.dev/v1alpha1",
      kind: "Placement",
      metadata: { name: "web" },
      spec: { resources: [{ apiVersion: "apps/v1", kind: "Deployment", name: "web" }] },
    });
    await rolledOut(4);
    await Promise.all([replicasIn(eu, 2), replicasIn(us, 2)]);
    await change({ template: { spec: { containers: [{ name: "main", image: "web:2" }] } } });
    await rolledOut(4);
    await change({ replicas: 6 });
    await rolledOut(6);
    region("drain", "eu");
    await replicasIn(us, 6);
    await replicasIn(eu, 0);
    region("drain", "eu", "--undo");
    await replicasIn(eu, 3);
    await rolledOut(6);
  });

  it("imports into every region what one exports, with an address of its own and its endpoints", async () => {
    const [eu, us] = [await open("eu"), await open("us")];
    await eu.create<AnyObject>(core("services"), "default", {
      metadata: { name: "web" },
      spec: { selector: { app: "web" }, ports: [{ port: 80 }] },
    });
    const mcs = (resource: string) => ({
      group: "multicluster.x-k8s.io",
      version: "v1beta1",
      resource,
    });
    await eu.create<AnyObject>(mcs("serviceexports"), "default", {
      apiVersion: "multicluster.x-k8s.io/v1beta1",
      kind: "ServiceExport",
      metadata: { name: "web" },
    });
    const imports = mcs("serviceimports");
    const imported = await until("an import with an address", async () => {
      const found = await us.get<AnyObject>(imports, "default", "web").catch(() => undefined);
      return JSON.stringify(found ?? {}).includes('"type":"Ready"') ? found : undefined;
    });
    assert.deepEqual((imported["status"] as { readonly clusters: unknown }).clusters, [
      { cluster: "eu" },
    ]);
    const slices = { group: "discovery.k8s.io", version: "v1", resource: "endpointslices" };
    const labelSelector = "multicluster.kubernetes.io/source-cluster=eu";
    await until("the endpoints of eu's pods in us", async () => {
      const { items } = await us.list<AnyObject>(slices, { namespace: "default", labelSelector });
      return (items[0]?.["endpoints"] as readonly unknown[] | undefined)?.length === 3
        ? true
        : undefined;
    });
    await eu.delete(mcs("serviceexports"), "default", "web");
    await until("no import", async () => {
      const { items } = await us.list<AnyObject>(imports, {});
      return items.length === 0 ? true : undefined;
    });
  });

  it("takes over nothing that others made between its look and its write", async () => {
    const eu = await open("eu");
    const made = await eu.create<AnyObject>(deployments, "default", {
      metadata: { name: "theirs" },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: "theirs" } },
        template: {
          metadata: { labels: { app: "theirs" } },
          spec: { containers: [{ name: "main", image: "theirs:1" }] },
        },
      },
    });
    // As the look saw it: nothing there yet.
    const late: Pick<Client, "get" | "patch"> = {
      get: (ref, namespace, name) =>
        name === "theirs"
          ? Promise.reject(notFound({ group: ref.group, resource: ref.resource }, name))
          : eu.get(ref, namespace, name),
      patch: (...args) => eu.patch(...args),
    };
    const region = { name: "eu", client: late, placed: () => new Map() };
    const containers = [{ name: "main", image: "ours:1" }];
    const template = { metadata: { labels: { app: "theirs" } }, spec: { containers } };
    const object: AnyObject = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "theirs", namespace: "default" },
      spec: { replicas: 5, selector: { matchLabels: { app: "theirs" } }, template },
    };
    const { problems } = await new RegionWriter().write(
      region as unknown as RegionConnection,
      "placement",
      [{ ref: deployments, object }],
      { kinds: [], adopts: false },
    );
    assert.deepEqual(problems, ["Deployment/theirs in eu was made by others just now"]);
    const after = await eu.get<AnyObject>(deployments, "default", "theirs");
    assert.deepEqual(after["spec"], made["spec"]);
    await eu.delete(deployments, "default", "theirs");
  });

  it("goes on when the coordinator was killed", async () => {
    await running.get("coordinator")?.kill();
    await change({ replicas: 8 });
    await startCoordinator();
    await rolledOut(8);
  });

  it("makes up for a region that is killed and called lost, and takes the excess down when it is back", async () => {
    const [eu, us] = [await open("eu"), await open("us")];
    await running.get("us")?.kill();
    region("lost", "us");
    await replicasIn(eu, 8);
    await rolledOut(8);
    await startRegion("us");
    await replicasIn(us, 0);
    region("lost", "us", "--undo");
    await Promise.all([replicasIn(eu, 4), replicasIn(us, 4)]);
    await rolledOut(8);
    const { items } = await home.list<AnyObject>(profiles, {});
    assert.deepEqual(items.map(({ metadata }) => metadata?.name).toSorted(), ["eu", "us"]);
  });

  it("refuses a placement that copies what its author may not read, or changes what they may not change", async () => {
    await home.create<AnyObject>(core("serviceaccounts"), "default", {
      metadata: { name: "placer" },
    });
    const rules = [
      { apiGroups: ["regions.pilothouse.dev"], resources: ["placements"], verbs: ["*"] },
      { apiGroups: ["apps"], resources: ["deployments"], verbs: ["get"] },
    ];
    await home.create<AnyObject>(rbac("roles"), "default", { metadata: { name: "placer" }, rules });
    await home.create<AnyObject>(rbac("rolebindings"), "default", {
      metadata: { name: "placer" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "placer" },
      subjects: [{ kind: "ServiceAccount", name: "placer", namespace: "default" }],
    });
    const accounts = core("serviceaccounts");
    const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
    const answer = await home.createSub(accounts, "default", "placer", "token", request);
    const { token } = answer["status"] as { readonly token: string };
    const { server, ca } = await apiAccess({ kubeconfig: file("home"), logLevel: "silent" });
    const access = { server, ...(ca === undefined ? {} : { ca }), namespace: "default" };
    const connection = new ApiConnection({ ...access, bearerToken: () => token }, "test");
    asking.push({ client: connection.client(), close: () => connection.close() });
    const create = (spec: object) =>
      connection.client().create<AnyObject>(placements, "default", {
        apiVersion: "regions.pilothouse.dev/v1alpha1",
        kind: "Placement",
        metadata: { generateName: "mine-" },
        spec,
      });
    const web = [{ apiVersion: "apps/v1", kind: "Deployment", name: "web" }];
    const secret = [{ apiVersion: "v1", kind: "Secret" }];
    const overrides = [{ patches: [{ op: "remove", path: "/spec/template" }] }];
    await assert.rejects(
      create({ resources: secret, dependencies: [] }),
      /you may not get what spec.resources\[0\] selects/,
    );
    await assert.rejects(create({ resources: web }), /you may not get secrets of this namespace/);
    await assert.rejects(
      create({ resources: web, dependencies: [], overrides }),
      /you may not update what spec.resources\[0\]/,
    );
    await create({ resources: [{ ...web[0], name: "none" }], dependencies: [] });
  });
});
