/**
 * A crowd made for real: the hundred pods of a Deployment, each with its own token, list a kind every three seconds. The doctor names
 * the workload and gives the manifest, which the API server takes; a hundred kubelets that do the same are no finding. Then a
 * relay answers them, and the doctor tells what it has saved, once and as metrics.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { parseAllDocuments } from "yaml";
import { bound } from "./bound-child.ts";
import { doctor } from "./doctor-run.ts";
import { fetchWith } from "./fetch-with.ts";
import { removeDirectory, root, type Running, startUp, temporaryDirectory } from "./harness.ts";
import { credentialsOf, type Json, KubeHttp } from "./kube-http.ts";
import { startRelay } from "./relay-harness.ts";
import { until } from "./role-harness.ts";

const pods = 100;
const rounds = 4;
const everyMs = 3_000;
const deployments = "/apis/apps/v1/namespaces/default/deployments";
const ingresses = "/apis/networking.k8s.io/v1/ingresses";

interface Finding {
  readonly rule: string;
  readonly culprit: string;
  readonly figures: Readonly<Record<string, number>>;
  readonly manifest?: string;
}

void describe("the doctor before a crowd", { timeout: 240_000 }, () => {
  const directory = temporaryDirectory("doctor-fan-out");
  const auditOf = (name: string): string => join(directory, `${name}.log`);
  let plane: Running;
  let admin: KubeHttp;

  const start = async (name: string): Promise<void> => {
    const data = ["--data-dir", join(directory, name), "--audit-log", auditOf(name)];
    plane = await startUp(["--port", "0", "--nodes", "3", ...data]);
    admin = new KubeHttp(credentialsOf(plane.kubeconfig));
  };
  const end = async (): Promise<void> => {
    admin.close();
    await plane.kill();
  };
  const findings = async (
    audit: string,
    ...more: readonly string[]
  ): Promise<readonly Finding[]> => {
    const { stdout, stderr } = await doctor(plane.kubeconfig, undefined, [
      "--audit",
      audit,
      ...more,
    ]);
    assert.notEqual(stdout, "", stderr);
    return (JSON.parse(stdout) as { findings: readonly Finding[] }).findings;
  };
  /** Each of them lists once a round. */
  const crowd = async (ask: (client: number) => Promise<number>): Promise<void> => {
    for (let round = 0; round < rounds; round++) {
      const wait = new Promise((resolve) => setTimeout(resolve, everyMs));
      const codes = await Promise.all(Array.from({ length: pods }, (_, at) => ask(at)));
      assert.deepEqual([...new Set(codes)], [200]);
      await wait;
    }
  };

  after(() => removeDirectory(directory));

  void describe("of a Deployment", () => {
    before(() => start("crowd"));
    after(end);

    it("names the workload, and its manifest is taken; a relay then tells what it saves", async () => {
      const tokens = await deploy(admin);
      await crowd(async (at) => (await fetchWith(plane.url, ingresses, tokens[at] ?? "")).status);
      const found = await findings(auditOf("crowd"));
      const [finding] = found.filter(({ rule }) => rule === "fan-out");
      assert.match(finding?.culprit ?? JSON.stringify(found), /^deployment default\/proxy, /);
      assert.equal(finding?.figures["pods"], pods);
      assert.ok(Number(finding.figures["listsPerSecondBefore"]) > 5);
      await throughRelay(tokens);
      // Its pods are replaced by it, and their tokens end.
      await takeManifest(admin, finding.manifest ?? "");
    });
  });

  void describe("of kubelets", () => {
    before(() => start("kubelets"));
    after(end);

    it("finds nothing: each is a user of its own", async () => {
      await crowd(async (at) => {
        const as = {
          "impersonate-user": `system:node:n${at}`,
          "impersonate-group": "system:masters",
        };
        const { status } = await admin.request("GET", ingresses, undefined, "", as);
        return status;
      });
      const found = await findings(auditOf("kubelets"));
      assert.deepEqual(
        found.filter(({ rule }) => rule === "fan-out"),
        [],
      );
    });
  });

  async function throughRelay(tokens: readonly string[]): Promise<void> {
    const pki = join(directory, "crowd", "pki");
    const args = ["--resources", "networking.k8s.io/v1/ingresses"];
    const { kubeconfig } = plane;
    const relay = await startRelay({ kubeconfig, directory, name: "relay", pki, args });
    try {
      const path = `${ingresses}?resourceVersion=0`;
      const ask = async (at: number): Promise<number> =>
        (await fetchWith(relay.url, path, tokens[at] ?? "")).status;
      // So many unknown tokens of one address are reviewed one after the other: they come again, as client-go does.
      for (const at of tokens.keys()) {
        await until("a reviewed token", async () => ((await ask(at)) === 200 ? true : undefined));
      }
      await crowd(ask);
      const told = await findings(auditOf("crowd"), "--relay", relay.kubeconfig);
      const [saved] = told.filter(({ rule }) => rule === "relay");
      assert.ok(Number(saved?.figures["reads"]) >= pods * rounds, JSON.stringify(told));
      assert.ok(Number(saved?.figures["upstreamLists"]) <= 3, "one of each mirror");
      await scraped(kubeconfig, relay.kubeconfig);
    } finally {
      await relay.kill();
    }
  }
});

/** @returns a token of each pod. */
async function deploy(admin: KubeHttp): Promise<readonly string[]> {
  const accounts = "/api/v1/namespaces/default/serviceaccounts";
  const group = "rbac.authorization.k8s.io";
  await admin.request("POST", accounts, { metadata: { name: "proxy" } });
  await admin.request("POST", `/apis/${group}/v1/clusterrolebindings`, {
    metadata: { name: "proxy" },
    roleRef: { apiGroup: group, kind: "ClusterRole", name: "view" },
    subjects: [{ kind: "ServiceAccount", name: "proxy", namespace: "default" }],
  });
  const labels = { app: "proxy" };
  const spec = { serviceAccountName: "proxy", containers: [{ name: "proxy", image: "proxy" }] };
  const { status, body } = await admin.request("POST", deployments, {
    metadata: { name: "proxy" },
    spec: {
      replicas: pods,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec },
    },
  });
  assert.equal(status, 201, JSON.stringify(body));
  const made = await until("the pods", async () => {
    const list = await admin.request("GET", "/api/v1/namespaces/default/pods");
    const items = list.body["items"] ?? [];
    return items.length === pods ? items : undefined;
  });
  return Promise.all(made.map((pod) => tokenOf(admin, `${accounts}/proxy/token`, pod)));
}

async function tokenOf(admin: KubeHttp, path: string, pod: Json): Promise<string> {
  const { name, uid } = pod["metadata"] as unknown as { name: string; uid: string };
  const boundObjectRef = { apiVersion: "v1", kind: "Pod", name, uid };
  const { body } = await admin.request("POST", path, { spec: { boundObjectRef } });
  return String(body["status"]?.["token"]);
}

/** The second document is a patch of the workload. */
async function takeManifest(admin: KubeHttp, manifest: string): Promise<void> {
  const [values, patch] = parseAllDocuments(manifest).map((one): unknown => one.toJS());
  assert.deepEqual(values, { relay: { resources: ["networking.k8s.io/v1/ingresses"] } });
  const type = "application/strategic-merge-patch+json";
  const { status, body } = await admin.request("PATCH", `${deployments}/proxy`, patch, type);
  assert.equal(status, 200, JSON.stringify(body));
  const spec = JSON.stringify(body["spec"]);
  for (const part of ["KUBERNETES_SERVICE_HOST", "relay-ca", '"image":"proxy"']) {
    assert.ok(spec.includes(part), part);
  }
}

async function scraped(kubeconfig: string, relay: string): Promise<void> {
  const launcher = join(root, "bin", "pilothouse.mjs");
  const args = ["doctor", "--watch", "1", "--metrics-listen", "127.0.0.1:0", "--relay", relay];
  const child = bound(spawn(process.execPath, [launcher, ...args, "--kubeconfig", kubeconfig]));
  let printed = "";
  child.stdout.on("data", (chunk: Buffer) => (printed += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (printed += chunk.toString()));
  try {
    const page = await until("the relay's figures", async () => {
      const url = /metrics at (http:\S+)/.exec(printed)?.[1];
      const text = url === undefined ? "" : await (await fetch(url)).text();
      return text.includes('rule="relay"') ? text : undefined;
    });
    assert.match(
      page,
      /pilothouse_doctor_figure\{rule="relay",culprit="relay",figure="reads"\} \d+/,
    );
    assert.match(page, /pilothouse_doctor_looks_total [1-9]/);
  } finally {
    child.kill();
  }
}
