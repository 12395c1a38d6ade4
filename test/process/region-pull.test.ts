/**
 * A region that nothing can reach: its agent dials the coordinator, over a way that is cut and comes back. Placed through it, with
 * the agent's own rights; and who may not open a tunnel.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { stringify } from "yaml";
import type { AnyObject } from "#api/object.ts";
import { makeAuthority, makeServerCertificate } from "#auth/pki.ts";
import type { Client } from "#client/client.ts";
import { apiAccess } from "#cmd/shared/api-access.ts";
import { CutWay } from "./cut-way.ts";
import { pilothouse, removeDirectory, temporaryDirectory } from "./harness.ts";
import { type Asking, clientOf, type RunningRole, startRole, until } from "./role-harness.ts";
import { freePort } from "./stock-apiserver.ts";

const deployments = { group: "apps", version: "v1", resource: "deployments" };
const placements = { group: "regions.pilothouse.dev", version: "v1alpha1", resource: "placements" };
const profiles = {
  group: "multicluster.x-k8s.io",
  version: "v1alpha1",
  resource: "clusterprofiles",
};
const accounts = { group: "", version: "v1", resource: "serviceaccounts" };
const secrets = { group: "", version: "v1", resource: "secrets" };

void describe("a region whose agent dials out", { timeout: 300_000 }, () => {
  const directory = temporaryDirectory("region-pull");
  const file = (name: string): string => join(directory, name, "kubeconfig");
  const at = (name: string): string => join(directory, name);
  const running = new Map<string, RunningRole>();
  const asking: Asking[] = [];
  let port = 0;
  let way: CutWay | undefined;
  let home: Client;

  async function open(name: string): Promise<Client> {
    const opened = await clientOf(file(name));
    asking.push(opened);
    return opened.client;
  }

  /** The authority's certificate is what agents trust. */
  function writeCertificate(): void {
    const validity = { notBeforeMs: Date.now() - 3_600_000, notAfterMs: Date.now() + 86_400_000 };
    const issue = (serial: number) => ({ validity, serial: new Uint8Array(16).fill(serial) });
    const authority = makeAuthority("test", issue(1));
    const made = makeServerCertificate(authority, "coordinator", ["127.0.0.1"], issue(2));
    writeFileSync(at("ca.pem"), authority.certificate);
    writeFileSync(at("tls.crt"), made.certificate);
    writeFileSync(at("tls.key"), made.privateKey, { mode: 0o600 });
  }

  async function startCoordinator(): Promise<void> {
    const tls = ["--tls-cert-file", at("tls.crt"), "--tls-private-key-file", at("tls.key")];
    const quick = ["--leader-elect=false", "--region-unknown-after", "5s"];
    const where = ["--kubeconfig", file("home"), "--secure-port", String(port)];
    running.set("coordinator", await startRole(["coordinator", ...where, ...tls, ...quick]));
  }

  async function startAgent(region: Client): Promise<void> {
    const asked = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
    const answer = await region.createSub(
      accounts,
      "pilothouse-regions",
      "pilothouse-region-agent",
      "token",
      asked,
    );
    const { token } = answer["status"] as { readonly token: string };
    const { server, ca = "" } = await apiAccess({ kubeconfig: file("eu"), logLevel: "silent" });
    const data = Buffer.from(ca).toString("base64");
    const config = {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "c", cluster: { server, "certificate-authority-data": data } }],
      users: [{ name: "u", user: { token } }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      "current-context": "x",
    };
    writeFileSync(at("agent.conf"), stringify(config), { mode: 0o600 });
    const args = ["--kubeconfig", at("agent.conf"), "--tunnel", at("tunnel.conf")];
    const quiet = ["--leader-elect=false", "--secure-port", "0"];
    running.set("agent", await startRole(["region", "agent", ...args, ...quiet]));
  }

  function healthy(status: string): Promise<true> {
    return until(`ControlPlaneHealthy ${status}`, async () => {
      const profile = await home.get<AnyObject>(profiles, "pilothouse-regions", "eu");
      const { conditions = [] } = (profile["status"] ?? {}) as {
        readonly conditions?: readonly { readonly type: string; readonly status: string }[];
      };
      const found = conditions.find(({ type }) => type === "ControlPlaneHealthy");
      return found?.status === status ? true : undefined;
    });
  }

  function ready(replicas: number): Promise<true> {
    return until(`${replicas} replicas of web that are ready`, async () => {
      const web = await home.get<AnyObject>(deployments, "default", "web");
      const status = (web["status"] ?? {}) as { readonly readyReplicas?: number };
      return status.readyReplicas === replicas ? true : undefined;
    });
  }

  async function scale(replicas: number): Promise<void> {
    await home.patch(deployments, "default", "web", "merge", { spec: { replicas } });
  }

  before(async () => {
    writeCertificate();
    port = await freePort();
    way = new CutWay(port);
    const dialed = await way.listen();
    const [atHome, region] = await Promise.all([
      startRole(["apiserver", "--data-dir", at("home"), "--secure-port", "0"]),
      startRole(["up", "--data-dir", at("eu"), "--port", "0", "--nodes", "2"]),
    ]);
    running.set("home", atHome).set("eu", region);
    home = await open("home");
    const where = ["--kubeconfig", file("eu"), "--coordinator", file("home"), "--name", "eu"];
    const pull = ["--pull", `https://127.0.0.1:${dialed}`, "--pull-ca", at("ca.pem")];
    const args = ["region", "join", ...where, ...pull, "--pull-file", at("tunnel.conf")];
    const { code, stderr } = pilothouse(args);
    assert.equal(code, 0, stderr);
    await startCoordinator();
    await startAgent(await open("eu"));
  });

  after(async () => {
    for (const one of asking) one.close();
    way?.close();
    await Promise.all([...running.values()].map((role) => role.kill()));
    removeDirectory(directory);
  });

  it("is placed into over one connection, and home has no credential of the region", async () => {
    await healthy("True");
    await home.create<AnyObject>(deployments, "default", {
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
    await home.create<AnyObject>(placements, "default", {
      apiVersion: "regions.pilothouse.dev/v1alpha1",
      kind: "Placement",
      metadata: { name: "web" },
      spec: { resources: [{ apiVersion: "apps/v1", kind: "Deployment", name: "web" }] },
    });
    await ready(2);
    assert.equal(way?.count, 1);
    const { items } = await home.list<AnyObject>(secrets, { namespace: "pilothouse-regions" });
    assert.deepEqual(items, []);
    const region = await open("eu");
    const ours = await region.list<AnyObject>(accounts, { namespace: "pilothouse-regions" });
    const names = ours.items.map(({ metadata }) => metadata?.name);
    assert.ok(!names.includes("pilothouse-coordinator"), names.join());
  });

  it("is Unknown while its way is cut, goes on, and is placed into again afterwards", async () => {
    assert.ok(way);
    way.isCut = true;
    await scale(3);
    await healthy("Unknown");
    way.isCut = false;
    await healthy("True");
    await ready(3);
  });

  it("dials again when the coordinator was killed", async () => {
    await running.get("coordinator")?.kill();
    await scale(4);
    await startCoordinator();
    await healthy("True");
    await ready(4);
  });

  it("opens no tunnel for nobody, for another account, for another region, or for what is none", async () => {
    const name = "stranger";
    await home.create<AnyObject>(accounts, "pilothouse-regions", { metadata: { name } });
    const tokenOf = async (account: string): Promise<string> => {
      const asked = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
      const answer = await home.createSub(accounts, "pilothouse-regions", account, "token", asked);
      return (answer["status"] as { readonly token: string }).token;
    };
    const [own, stranger] = await Promise.all([tokenOf("region-eu"), tokenOf(name)]);
    const tunnel = { connection: "Upgrade", upgrade: "pilothouse-region-1" };
    const ask = (
      path: string,
      token: string,
      headers: Readonly<Record<string, string>> = tunnel,
    ): Promise<number> =>
      new Promise((resolve, reject) => {
        const authorization = token === "" ? {} : { authorization: `Bearer ${token}` };
        const sent = request({
          host: "127.0.0.1",
          port,
          path,
          headers: { ...headers, ...authorization },
          rejectUnauthorized: false,
        });
        sent.on("error", reject);
        sent.on("upgrade", (_, socket) => {
          socket.destroy();
          resolve(101);
        });
        sent.on("response", (answer) => {
          answer.resume();
          resolve(answer.statusCode ?? 0);
        });
        sent.end();
      });
    assert.equal(await ask("/tunnels/eu", ""), 401);
    assert.equal(await ask("/tunnels/eu", "made-up"), 401);
    assert.equal(await ask("/tunnels/eu", stranger), 403);
    assert.equal(await ask("/tunnels/us", own), 403, "its account is for one region");
    assert.equal(await ask("/tunnels/eu", own, {}), 400);
    assert.equal(await ask("/tunnels/eu/api", own), 404);
    assert.equal(await ask("/tunnels/", own), 404);
    // What was refused has not taken the place of the agent's tunnel.
    await scale(5);
    await ready(5);
  });
});
