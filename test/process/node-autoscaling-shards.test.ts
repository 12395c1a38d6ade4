/** Two shards of `pilothouse autoscaler`, one of them with a standby, over TLS: the leader is killed, and nobody adds a node too many. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Deployment, Lease, Node, Pod } from "#api/gen/types.ts";
import { makeAuthority, makeClientCertificate, makeServerCertificate } from "#auth/pki.ts";
import { isOwnGroup } from "#autoscaler/shard.ts";
import type { Client } from "#client/client.ts";
import { removeDirectory, type Running, startUp, temporaryDirectory } from "./harness.ts";
import {
  type Asking,
  clientOf,
  podsRef,
  type RunningRole,
  startRole,
  until,
} from "./role-harness.ts";

const nodesRef = { group: "", version: "v1", resource: "nodes" };
const leasesRef = { group: "coordination.k8s.io", version: "v1", resource: "leases" };
const deploymentsRef = { group: "apps", version: "v1", resource: "deployments" };
const count = 2;
/** One group of each shard. */
const pools = [0, 1].map((index) => {
  const names = Array.from({ length: 20 }, (_, at) => `pool-${at}`);
  return names.find((name) => isOwnGroup(name, { index, count })) ?? "";
});
const [first = "", second = ""] = pools;

const groups = `groups:
${pools.map((name) => `- {name: ${name}, max: 20, shape: {cpu: 4, pods: 110}, labels: {pool: ${name}}}`).join("\n")}
`;
const quick = [
  ..."--scan-interval 500ms --scale-down-delay-after-add 1s --scale-down-unneeded-time 2s".split(
    " ",
  ),
  ..."--max-drain-parallelism 5 --secure-port 0 --leader-elect-lease-duration 8s".split(" "),
  ..."--leader-elect-renew-deadline 6s --leader-elect-retry-period 1s".split(" "),
];

void describe("two shards of the autoscaler", { timeout: 240_000 }, () => {
  const directory = temporaryDirectory("node-autoscaling-shards");
  const roles: RunningRole[] = [];
  let plane: Running | undefined;
  let asking: Asking | undefined;
  let client: Client;
  let cloud: string;

  const file = (name: string, text: string): string => {
    const path = join(directory, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };

  /** The files of TLS, as flags of the provider and as the autoscalers' cloud configuration. */
  const certificates = () => {
    const hourMs = 3_600_000;
    let serials = 0;
    const made = () => ({
      validity: { notBeforeMs: Date.now() - hourMs, notAfterMs: Date.now() + hourMs },
      serial: new Uint8Array(16).fill(++serials),
    });
    const authority = makeAuthority("node-groups", made());
    const server = makeServerCertificate(authority, "p", ["127.0.0.1"], made());
    const subject = { commonName: "autoscaler", organizations: [] };
    const own = makeClientCertificate(authority, subject, made());
    const ca = file("ca.pem", authority.certificate);
    const provider = [
      "--node-groups-cert-file",
      file("server.pem", server.certificate),
      "--node-groups-key-file",
      file("server.key", server.privateKey),
      "--node-groups-client-ca-file",
      ca,
    ];
    const cert = file("client.pem", own.certificate);
    const key = file("client.key", own.privateKey);
    return { provider, config: `cert: ${cert}\nkey: ${key}\ncacert: ${ca}\n` };
  };

  const startShard = async (index: number): Promise<RunningRole> => {
    const kubeconfig = plane?.kubeconfig ?? "";
    const named = ["--kubeconfig", kubeconfig, "--cloud-config", cloud];
    const role = await startRole([
      "autoscaler",
      ...named,
      "--shard",
      `${index}/${count}`,
      ...quick,
    ]);
    roles.push(role);
    return role;
  };

  before(async () => {
    const { provider, config } = certificates();
    const at = ["--node-groups-address", "127.0.0.1:0", ...provider];
    const data = ["--data-dir", join(directory, "data"), "--port", "0", "--nodes", "0"];
    const path = file("groups.yaml", groups);
    plane = await startUp([...data, "--hollow-node-groups", path, ...at]);
    const address = /node groups (\S+)/.exec(plane.output())?.[1] ?? "";
    cloud = file("cloud.yaml", `address: ${address}\n${config}`);
    asking = await clientOf(plane.kubeconfig);
    ({ client } = asking);
  });
  after(async () => {
    asking?.close();
    for (const role of roles) await role.kill();
    await plane?.kill();
    removeDirectory(directory);
  });

  const nodesOf = async (pool: string): Promise<number> =>
    (await client.list<Node>(nodesRef, { labelSelector: `pool=${pool}` })).items.length;
  const running = async (name: string): Promise<number> => {
    const { items } = await client.list<Pod>(podsRef, { labelSelector: `app=${name}` });
    return items.filter(({ status }) => status?.phase === "Running").length;
  };
  const deploy = (name: string, pool: string, replicas: number): Promise<Deployment> => {
    const labels = { app: name };
    const resources = { requests: { cpu: "3" } };
    const containers = [{ name: "c", image: "nginx", resources }];
    const template = { metadata: { labels }, spec: { nodeSelector: { pool }, containers } };
    return client.create<Deployment>(deploymentsRef, "default", {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name },
      spec: { replicas, selector: { matchLabels: labels }, template },
    });
  };
  const holder = async (): Promise<string | undefined> => {
    const name = `cluster-autoscaler-0-of-${count}`;
    const lease = await client.get<Lease>(leasesRef, "kube-system", name);
    return lease.spec?.holderIdentity;
  };

  it("each shard grows its own group, by as many nodes as its pods need", async () => {
    const leader = await startShard(0);
    const held = await until("a leader of shard 0", async () => holder().catch(() => undefined));
    await startShard(0);
    await startShard(1);
    await Promise.all([deploy("a", first, 4), deploy("b", second, 3)]);
    await until("all pods run", async () =>
      (await running("a")) === 4 && (await running("b")) === 3 ? true : undefined,
    );
    assert.deepEqual([await nodesOf(first), await nodesOf(second)], [4, 3]);
    await leader.kill();
    await deploy("c", first, 2);
    await until("another leader", async () => ((await holder()) === held ? undefined : true));
    await until("the pods of the killed shard's group run", async () =>
      (await running("c")) === 2 ? true : undefined,
    );
    assert.deepEqual([await nodesOf(first), await nodesOf(second)], [6, 3], "not a node too many");
  });

  it("a group whose shard is dead keeps its nodes; with the shard back they go", async () => {
    const [, standby, other] = roles;
    await other?.kill();
    for (const name of ["a", "b", "c"]) await client.delete(deploymentsRef, "default", name);
    await until("the group of the living shard is empty", async () =>
      (await nodesOf(first)) === 0 ? true : undefined,
    );
    assert.equal(await nodesOf(second), 3);
    assert.ok(standby);
    await startShard(1);
    await until("the other group is empty", async () =>
      (await nodesOf(second)) === 0 ? true : undefined,
    );
  });
});
