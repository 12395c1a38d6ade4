/** The rights that docs/doctor.md names: with them nothing is forbidden, and each of them is needed. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { doctor, type Told } from "./doctor-run.ts";
import { removeDirectory, root, startUp, temporaryDirectory } from "./harness.ts";
import { type Credentials, credentialsOf, type Json, KubeHttp } from "./kube-http.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const accounts = "/api/v1/namespaces/default/serviceaccounts";

interface Role {
  readonly rules: readonly Readonly<Record<string, readonly string[]>>[];
}

interface Plane {
  readonly admin: KubeHttp;
  readonly credentials: Credentials;
}

/** What each part of the role shows, by the names of the gaps without it. */
const shownBy = {
  "/metrics": ["/metrics of the API server"],
  "/debug/api_priority_and_fairness/dump_requests": ["users within flow schemas"],
  namespaces: ["namespaces"],
  apiservices: ["apiservices"],
  leases: ["leases", "nodeLeases"],
  // Read when a service account asks for much.
  deployments: ["workloads of busy callers"],
  daemonsets: ["workloads of busy callers"],
  statefulsets: ["workloads of busy callers"],
  // Read when one of them is silent.
  nodes: ["zones of the nodes"],
};

test("with the documented ClusterRole nothing is forbidden, and without any part of it something is", async () => {
  const directory = temporaryDirectory("doctor-rights");
  const plane = await startUp([
    "--data-dir",
    join(directory, "data"),
    "--port",
    "0",
    "--nodes",
    "1",
  ]);
  const credentials = credentialsOf(plane.kubeconfig);
  const admin = new KubeHttp(credentials);
  try {
    await send(admin, "POST", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", {
      metadata: { name: "silent" },
      spec: { holderIdentity: "silent", renewTime: "2026-01-01T00:00:00.000000Z" },
    });
    const role = documentedRole();
    const kubeconfig = await bind({ admin, credentials }, role, join(directory, "kubeconfig"));
    const audit = join(directory, "audit.log");
    writeFileSync(audit, busyLog());
    assert.deepEqual(await forbidden(kubeconfig, audit), []);
    for (const [part, gaps] of Object.entries(shownBy)) {
      const name = "pilothouse-doctor";
      const path = `${rbac}/clusterroles/${name}`;
      await send(admin, "PUT", path, {
        ...role,
        rules: role.rules.map((rule) => without(rule, part)),
      });
      assert.deepEqual(await forbidden(kubeconfig, audit), gaps, part);
    }
    assert.deepEqual(partsOf(role), Object.keys(shownBy).toSorted());
  } finally {
    admin.close();
    await plane.kill();
    removeDirectory(directory);
  }
});

function documentedRole(): Role {
  const page = readFileSync(join(root, "docs", "doctor.md"), "utf8");
  return parse(/```yaml\n(.*?)```/s.exec(page)?.[1] ?? "") as Role;
}

function partsOf({ rules }: Role): readonly string[] {
  return rules
    .flatMap(({ resources = [], nonResourceURLs = [] }) => [...resources, ...nonResourceURLs])
    .toSorted();
}

/** A rule must name something, so one that would be empty names what is nowhere. */
function without(rule: Role["rules"][number], part: string): Role["rules"][number] {
  const named = (key: string): readonly string[] | undefined =>
    rule[key]?.includes(part) === true ? rule[key].filter((one) => one !== part) : rule[key];
  const { resources, nonResourceURLs } = rule;
  return {
    ...rule,
    ...(resources === undefined ? {} : { resources: orNone(named("resources")) }),
    ...(nonResourceURLs === undefined ? {} : { nonResourceURLs: orNone(named("nonResourceURLs")) }),
  };
}

function orNone(names: readonly string[] = []): readonly string[] {
  return names.length === 0 ? ["/none"] : names;
}

/** The account that has the role and nothing else, as a kubeconfig. */
async function bind({ admin, credentials }: Plane, role: Role, path: string): Promise<string> {
  await send(admin, "POST", accounts, { metadata: { name: "doctor" } });
  await send(admin, "POST", `${rbac}/clusterroles`, role);
  await send(admin, "POST", `${rbac}/clusterrolebindings`, {
    metadata: { name: "doctor" },
    roleRef: {
      apiGroup: "rbac.authorization.k8s.io",
      kind: "ClusterRole",
      name: "pilothouse-doctor",
    },
    subjects: [{ kind: "ServiceAccount", name: "doctor", namespace: "default" }],
  });
  const made = await send(admin, "POST", `${accounts}/doctor/token`, { spec: {} });
  writeFileSync(path, kubeconfigOf(credentials, String(made["status"]?.["token"])), {
    mode: 0o600,
  });
  return path;
}

function kubeconfigOf({ server, ca }: Credentials, token: string): string {
  return JSON.stringify({
    clusters: [
      { name: "a", cluster: { server, "certificate-authority-data": ca.toString("base64") } },
    ],
    users: [{ name: "a", user: { token } }],
    contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
    "current-context": "a",
  });
}

/** A service account that lists nodes a hundred times a second. */
function busyLog(): string {
  return Array.from({ length: 100 }, () =>
    JSON.stringify({
      kind: "Event",
      stage: "ResponseComplete",
      verb: "list",
      requestURI: "/api/v1/nodes",
      user: { username: "system:serviceaccount:default:busy" },
      objectRef: { resource: "nodes", apiVersion: "v1" },
      requestReceivedTimestamp: "2026-01-02T03:00:00.000000Z",
    }),
  )
    .concat("")
    .join("\n");
}

async function forbidden(kubeconfig: string, audit: string): Promise<readonly string[]> {
  const { stdout } = await doctor(kubeconfig, undefined, ["--audit", audit]);
  const { gaps } = JSON.parse(stdout) as Told;
  return gaps.flatMap(({ what, why }) => (why.includes("forbidden") ? [what] : [])).toSorted();
}

async function send(admin: KubeHttp, method: string, path: string, sent: unknown): Promise<Json> {
  const { status, body } = await admin.request(method, path, sent);
  assert.ok(status === 200 || status === 201, JSON.stringify(body));
  return body;
}
