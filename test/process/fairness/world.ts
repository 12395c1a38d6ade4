/**
 * An API server with fifty tenants, leader elections and one namespace of large lists; and what each of the quiet ones
 * waits beside a flood. For `fairness.test.ts` and `npm run bench -- fairness`.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { setPriority } from "node:os";
import { join } from "node:path";
import { removeDirectory, temporaryDirectory } from "../harness.ts";
import { type Access, KubeHttp } from "../kube-http.ts";
import { type RunningRole, startRole } from "../role-harness.ts";
import { Flood, type FloodFigures } from "./flood.ts";
import { Quiet, type QuietFigures, type Tenant } from "./quiet.ts";

export interface FairnessOptions {
  readonly tenants: number;
  /** Half of them in kube-system, half of the tenants' own. */
  readonly elections: number;
  /** In the namespace that the flood lists. */
  readonly objects: number;
  readonly objectBytes: number;
}

export interface Beside {
  readonly quiet: QuietFigures;
  readonly flood: FloodFigures;
}

const adminToken = "admin-token";
const noisy = { namespace: "noisy", name: "controller", token: "noisy-token" };
const listed = `/api/v1/namespaces/${noisy.namespace}/configmaps`;
const flows = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas";
const rbac = "/apis/rbac.authorization.k8s.io/v1";

export class FairnessWorld {
  readonly #directory: string;
  readonly #role: RunningRole;
  readonly #access: Access;
  readonly #admin: KubeHttp;
  readonly #quiet: Quiet;

  private constructor(
    directory: string,
    role: RunningRole,
    access: Access,
    admin: KubeHttp,
    quiet: Quiet,
  ) {
    this.#directory = directory;
    this.#role = role;
    this.#access = access;
    this.#admin = admin;
    this.#quiet = quiet;
  }

  static async start(options: FairnessOptions): Promise<FairnessWorld> {
    const directory = temporaryDirectory("fairness");
    const tenants = tenantsOf(options.tenants);
    const elections = electionsOf(options.elections);
    const role = await startServer(directory, [...tenants, ...elections, noisy]);
    const server = /API\s+(https:\S+)/.exec(role.output())?.[1] ?? "";
    const ca = readFileSync(join(directory, "data", "pki", "ca.crt"));
    const access = { server, ca, headers: { authorization: `Bearer ${adminToken}` } };
    const admin = new KubeHttp(access);
    wakeServerFirst(role.child.pid ?? 0);
    await prepare(admin, options, { tenants, elections });
    const where = { url: server, pid: role.child.pid ?? 0, ca: ca.toString() };
    const quiet = new Quiet({ ...where, tenants, elections });
    return new FairnessWorld(directory, role, access, admin, quiet);
  }

  /** What the tenants and the elections wait by themselves. */
  undisturbed(ms: number): Promise<QuietFigures> {
    return this.#quiet.measure(ms);
  }

  /** The same beside one client with so many whole lists in flight; it has begun before the measurement does. */
  async flooded(inFlight: number, ms: number): Promise<Beside> {
    const { server, ca } = this.#access;
    const { token } = noisy;
    const flood = new Flood({ url: server, ca: ca.toString(), token, path: listed, inFlight });
    try {
      while ((await flood.figures()).answered < inFlight / 10) await this.#quiet.measure(200);
      const before = await flood.figures();
      const quiet = await this.#quiet.measure(ms);
      const after = await flood.figures();
      return { quiet, flood: difference(after, before) };
    } finally {
      await flood.stop();
    }
  }

  /** The flood's client gets the level exempt: it waits for nobody. */
  async exempt(): Promise<void> {
    const { namespace, name } = noisy;
    const subjects = [{ kind: "ServiceAccount", serviceAccount: { namespace, name } }];
    const everything = { verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"] };
    await create(this.#admin, flows, {
      metadata: { name: "noisy" },
      spec: {
        priorityLevelConfiguration: { name: "exempt" },
        matchingPrecedence: 10,
        rules: [{ subjects, resourceRules: [{ ...everything, clusterScope: true }] }],
      },
    });
  }

  async stop(): Promise<void> {
    this.#quiet.close();
    this.#admin.close();
    await this.#role.stop();
    removeDirectory(this.#directory);
  }
}

/** What else runs on the machine delays all processes; here only this server's own work is looked at. */
function wakeServerFirst(pid: number): void {
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) setPriority(Number(thread), -15);
  } catch {
    console.log("  the server has no priority: figures hold what else runs on the machine");
  }
}

function difference(after: FloodFigures, before: FloodFigures): FloodFigures {
  return {
    answered: after.answered - before.answered,
    refused: after.refused - before.refused,
    bytes: after.bytes - before.bytes,
  };
}

function tenantsOf(count: number): readonly Tenant[] {
  return Array.from({ length: count }, (_, at) => ({
    namespace: `tenant-${at}`,
    name: "app",
    token: `tenant-token-${at}`,
  }));
}

function electionsOf(count: number): readonly Tenant[] {
  return Array.from({ length: count }, (_, at) => ({
    namespace: at % 2 === 0 ? "kube-system" : `tenant-${at}`,
    name: `leader-${at}`,
    token: `leader-token-${at}`,
  }));
}

function startServer(directory: string, accounts: readonly Tenant[]): Promise<RunningRole> {
  mkdirSync(directory, { recursive: true });
  const tokens = join(directory, "tokens.csv");
  const lines = accounts.map(({ namespace, name, token }) => {
    const groups = `"system:serviceaccounts,system:serviceaccounts:${namespace}"`;
    return `${token},system:serviceaccount:${namespace}:${name},${token},${groups}`;
  });
  lines.push(`${adminToken},kubernetes-admin,1,"system:masters"`);
  writeFileSync(tokens, `${lines.join("\n")}\n`, { mode: 0o600 });
  const data = `--data-dir=${join(directory, "data")}`;
  const more = ["--secure-port=0", "--log-level=error", `--token-auth-file=${tokens}`];
  return startRole(["apiserver", data, ...more]);
}

async function prepare(
  admin: KubeHttp,
  { objects, objectBytes }: FairnessOptions,
  { tenants, elections }: { tenants: readonly Tenant[]; elections: readonly Tenant[] },
): Promise<void> {
  const apiGroup = "rbac.authorization.k8s.io";
  await create(admin, `${rbac}/clusterroles`, {
    metadata: { name: "fairness" },
    rules: [
      { verbs: ["*"], apiGroups: [""], resources: ["configmaps"] },
      { verbs: ["*"], apiGroups: ["coordination.k8s.io"], resources: ["leases"] },
    ],
  });
  await create(admin, `${rbac}/clusterrolebindings`, {
    metadata: { name: "fairness" },
    roleRef: { apiGroup, kind: "ClusterRole", name: "fairness" },
    subjects: [{ apiGroup, kind: "Group", name: "system:serviceaccounts" }],
  });
  for (const { namespace } of [...tenants, noisy]) {
    await create(admin, "/api/v1/namespaces", { metadata: { name: namespace } });
  }
  for (const { namespace, name } of tenants) {
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    for (const each of [name, "settings", "more"]) {
      await create(admin, path, { metadata: { name: each }, data: { text: "x".repeat(500) } });
    }
  }
  for (const { namespace, name } of elections) {
    const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
    await create(admin, path, { metadata: { name }, spec: { holderIdentity: name } });
  }
  const data = { text: "x".repeat(objectBytes) };
  await inBatches(objects, (at) => create(admin, listed, { metadata: { name: `o-${at}` }, data }));
}

async function inBatches(count: number, f: (at: number) => Promise<void>): Promise<void> {
  const batch = 50;
  for (let from = 0; from < count; from += batch) {
    const length = Math.min(batch, count - from);
    await Promise.all(Array.from({ length }, (_, at) => f(from + at)));
  }
}

async function create(admin: KubeHttp, path: string, body: object): Promise<void> {
  const { status } = await admin.request("POST", path, body);
  if (status !== 201) throw new Error(`${path} was answered ${status}`);
}
