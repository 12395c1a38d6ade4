/** `pilothouse doctor` as a process: a healthy plane, a plane with faults, and servers that give no answer. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import type { Client, ResourceRef } from "#client/client.ts";
import { startEtcd } from "#etcd/testing/servers.ts";
import { doctor, watch, rights, type Told } from "./doctor-run.ts";
import { type CommandResult, removeDirectory, startUp, temporaryDirectory } from "./harness.ts";
import { noStock, stockPrograms } from "./peers.ts";
import { clientOf } from "./role-harness.ts";
import { startApiServer } from "./stock-apiserver.ts";

const stock = stockPrograms();
const directory = temporaryDirectory("doctor");
after(() => removeDirectory(directory));

/** How busy a server is and how quick its disk depends on the machine that runs the test. */
function culprits({ stdout }: CommandResult): readonly string[] {
  const { findings } = JSON.parse(stdout) as Told;
  return findings
    .filter(({ rule }) => rule !== "server-busy" && rule !== "store-disk")
    .map(({ rule, culprit }) => `${rule}: ${culprit}`)
    .toSorted();
}

const webhook: AnyObject = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  metadata: { name: "dead" },
  webhooks: [
    {
      name: "dead.example.com",
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
      failurePolicy: "Fail",
      clientConfig: { url: "https://127.0.0.1:9/" },
      rules: [
        { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] },
      ],
    },
  ],
};
const apiService: AnyObject = {
  apiVersion: "apiregistration.k8s.io/v1",
  kind: "APIService",
  metadata: { name: "v1.away.example.com" },
  spec: {
    group: "away.example.com",
    version: "v1",
    groupPriorityMinimum: 100,
    versionPriority: 10,
    insecureSkipTLSVerify: true,
    service: { name: "away", namespace: "default" },
  },
};
const lease: AnyObject = {
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name: "shop-controller", namespace: "kube-system" },
  spec: {
    holderIdentity: "shop-0",
    leaseDurationSeconds: 15,
    renewTime: "2026-01-01T00:00:00.000000Z",
  },
};

const refOf = (group: string, resource: string): ResourceRef => ({
  group,
  version: "v1",
  resource,
});

async function injectFaults(client: Client): Promise<void> {
  const webhooks = refOf("admissionregistration.k8s.io", "validatingwebhookconfigurations");
  await client.create(webhooks, "", webhook);
  await client.create(refOf("apiregistration.k8s.io", "apiservices"), "", apiService);
  await client.create(refOf("coordination.k8s.io", "leases"), "kube-system", lease);
}

const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
rules: [{level: Metadata}]
`;

const found = [
  "aggregated-api-away: APIService v1.away.example.com, service default/away",
  "leader-stuck: shop-controller, held by shop-0",
  "list-storm: whoever lists secrets",
  "webhook: webhook dead.example.com",
];
const listsAtOnce = 40;

/** A write that the dead webhook stops, and lists as of many clients; whether it does is the doctor's to say. */
async function write(client: Client): Promise<void> {
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { generateName: "a-" } };
  await client.create(refOf("", "configmaps"), "default", object).catch(() => undefined);
  const lists = Array.from({ length: listsAtOnce }, () =>
    client.list(refOf("", "secrets"), { namespace: "default" }).catch(() => undefined),
  );
  await Promise.all(lists);
}

test("a healthy plane has no findings; of four faults each is found with its culprit", async () => {
  const data = join(directory, "plane");
  const plane = await startUp(["--port", "0", "--nodes", "2", "--data-dir", data]);
  try {
    const well = await doctor(plane.kubeconfig);
    assert.deepEqual(culprits(well), []);
    assert.deepEqual(rights(well), [
      "--audit FILE",
      "--controller-manager URL",
      "--etcd URL",
      "--prometheus URL",
      "--scheduler URL",
    ]);
    assert.equal(well.code, 0);
    const asking = await clientOf(plane.kubeconfig);
    const watching = watch(plane.kubeconfig);
    await injectFaults(asking.client);
    assert.match(await watching.change("leader-stuck"), /"change":"new"/);
    await asking.client.delete(
      refOf("coordination.k8s.io", "leases"),
      "kube-system",
      "shop-controller",
    );
    assert.match(await watching.change("leader-stuck"), /"change":"gone"/);
    watching.stop();
    await asking.client.create(refOf("coordination.k8s.io", "leases"), "kube-system", lease);
    const ill = await doctor(plane.kubeconfig, () => write(asking.client));
    asking.close();
    assert.equal(ill.code, 1);
    assert.deepEqual(culprits(ill), found);
  } finally {
    await plane.stop();
  }
});

test(
  "a stock API server has no findings; of its faults each is found with its culprit",
  { skip: stock === undefined ? noStock : false },
  async () => {
    const etcd = await startEtcd(stock?.etcd ?? "");
    const audit = join(directory, "audit.log");
    const policy = join(directory, "audit-policy.yaml");
    writeFileSync(policy, auditPolicy);
    const server = await startApiServer(stock?.apiserver ?? "", join(directory, "stock"), [
      `--etcd-servers=${etcd.url}`,
      `--audit-log-path=${audit}`,
      `--audit-policy-file=${policy}`,
    ]);
    try {
      const well = await doctor(server.kubeconfig, undefined, [
        `--etcd=${etcd.url}`,
        `--audit=${audit}`,
      ]);
      assert.deepEqual(culprits(well), []);
      assert.deepEqual(rights(well), [
        "--controller-manager URL",
        "--prometheus URL",
        "--scheduler URL",
      ]);
      const asking = await clientOf(server.kubeconfig);
      await injectFaults(asking.client);
      const ill = await doctor(server.kubeconfig, () => write(asking.client), [`--audit=${audit}`]);
      asking.close();
      const without = found.filter((line) => !line.startsWith("list-storm"));
      assert.deepEqual(
        culprits(ill).filter((line) => found.includes(line)),
        without,
      );
      const byAudit = culprits(ill).filter((line) => !found.includes(line));
      assert.deepEqual(
        byAudit.map((line) => line.replace(/: .*(?= \()/, ":")),
        ["greedy-caller: (kubernetes-admin)", "list-storm: (kubernetes-admin)"],
      );
    } finally {
      await server.stop();
      await etcd.close();
    }
  },
);

test("a server that takes connections and never answers ends in a report of what was not seen", async () => {
  const server = createServer(() => {}).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const kubeconfig = join(directory, "silent");
  writeFileSync(
    kubeconfig,
    `clusters: [{name: a, cluster: {server: "http://127.0.0.1:${port}"}}]
contexts: [{name: a, context: {cluster: a}}]
current-context: a
`,
  );
  const { code, stdout } = await doctor(kubeconfig);
  server.close();
  assert.equal(code, 2);
  const { gaps } = JSON.parse(stdout) as Told;
  assert.deepEqual(gaps.map(({ what }) => what).toSorted(), [
    "/metrics of controller-manager",
    "/metrics of etcd",
    "/metrics of scheduler",
    "/metrics of the API server",
    "apiservices",
    "leases",
    "namespaces",
    "nodeLeases",
    "the audit log",
    "what was before this look",
  ]);
});

test("a kubeconfig that is not there is one sentence, and no finding", async () => {
  const { code, stdout, stderr } = await doctor(join(directory, "absent"));
  assert.equal(code, 2);
  assert.equal(stdout, "");
  assert.match(stderr, /^pilothouse: .*absent.*\n$/);
});
