/** Every rule that can be is made to fire by a real fault, with the culprit's name, and its neighbour does not. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { startEtcd } from "#etcd/testing/servers.ts";
import { faultGroups, planeFaultGroups } from "./doctor-faults.ts";
import { quotaBytes, storeFaults, storeQuorum } from "./doctor-store-faults.ts";
import { EtcdCluster } from "./etcd-cluster.ts";
import { startRole } from "./role-harness.ts";
import { checkGroup, type OpenWorld, openWorld } from "./doctor-live.ts";
import { removeDirectory, type Running, startUp, temporaryDirectory } from "./harness.ts";
import { findPeer, noPeer, noStock, stockPrograms } from "./peers.ts";
import { type StockApiServer, startApiServer } from "./stock-apiserver.ts";

const directory = temporaryDirectory("doctor-live");
after(() => removeDirectory(directory));

const nameOf = (group: readonly { readonly rule: string }[]): string =>
  group.map(({ rule }) => rule).join(", ");

void describe("faults of a plane of ours", { timeout: 240_000 }, () => {
  const audit = join(directory, "audit.log");
  let plane: Running;
  let world: OpenWorld;
  before(async () => {
    const data = ["--data-dir", join(directory, "plane"), "--audit-log", audit];
    plane = await startUp(["--port", "0", "--nodes", "3", ...data]);
    world = await openWorld(plane.kubeconfig);
  });
  after(async () => {
    await world.close();
    await plane.stop();
  });
  for (const group of [...faultGroups, ...planeFaultGroups]) {
    const flags = group.some(({ rule }) => rule === "greedy-caller") ? [`--audit=${audit}`] : [];
    test(nameOf(group), () => checkGroup(world, group, flags));
  }
});

const stock = stockPrograms();
const skip = stock === undefined ? noStock : false;

void describe("faults of a stock API server", { skip, timeout: 240_000 }, () => {
  const audit = join(directory, "stock-audit.log");
  const policy = join(directory, "audit-policy.yaml");
  let etcd: Awaited<ReturnType<typeof startEtcd>>;
  let server: StockApiServer;
  let world: OpenWorld;
  before(async () => {
    etcd = await startEtcd(stock?.etcd ?? "");
    writeFileSync(
      policy,
      "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n",
    );
    server = await startApiServer(stock?.apiserver ?? "", join(directory, "stock"), [
      `--etcd-servers=${etcd.url}`,
      `--audit-log-path=${audit}`,
      `--audit-policy-file=${policy}`,
    ]);
    world = await openWorld(server.kubeconfig);
  });
  after(async () => {
    await world.close();
    await server.stop();
    await etcd.close();
  });
  for (const group of faultGroups) {
    const flags = group.some(({ rule }) => rule === "greedy-caller") ? [`--audit=${audit}`] : [];
    test(nameOf(group), () => checkGroup(world, group, flags));
  }
});

const etcdProgram = findPeer("etcd");
const kinds = ["ours", "stock"] as const;

/** On an etcd of its own; the caller ends both. */
async function startOn(kind: (typeof kinds)[number], etcd: EtcdCluster, name: string) {
  const place = join(directory, name);
  const servers = `--etcd-servers=${etcd.urls.join(",")}`;
  if (kind === "stock") return startApiServer(stock?.apiserver ?? "", place, [servers]);
  const role = await startRole(["apiserver", "--data-dir", place, "--secure-port", "0", servers]);
  return { kubeconfig: join(place, "kubeconfig"), stop: () => role.stop() };
}

for (const kind of kinds) {
  const absent = kind === "stock" ? skip : etcdProgram === undefined ? noPeer("etcd") : false;
  void describe(
    `faults of the etcd of an API server: ${kind}`,
    { skip: absent, timeout: 280_000 },
    () => {
      test("size, free room and latency", async () => {
        const quota = [`--quota-backend-bytes=${quotaBytes}`];
        const place = join(directory, `etcd-${kind}`);
        const etcd = await EtcdCluster.start(etcdProgram ?? "", place, 1, quota);
        const server = await startOn(kind, etcd, `on-etcd-${kind}`);
        const world = await openWorld(server.kubeconfig);
        try {
          for (const group of storeFaults(etcd, kind)) {
            await checkGroup(world, group, [`--etcd=${etcd.urls[0]}`]);
          }
        } finally {
          await world.close();
          await server.stop();
          await etcd.close();
        }
      });

      test("its leader", async () => {
        const etcd = await EtcdCluster.start(
          etcdProgram ?? "",
          join(directory, `three-${kind}`),
          3,
        );
        const server = await startOn(kind, etcd, `on-three-${kind}`);
        const world = await openWorld(server.kubeconfig);
        try {
          const other = ((await etcd.leader()) + 1) % 3;
          await checkGroup(world, [storeQuorum(etcd)], [`--etcd=${etcd.urls[other]}`]);
        } finally {
          await world.close();
          await server.stop();
          await etcd.close();
        }
      });
    },
  );
}
