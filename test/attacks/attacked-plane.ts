/**
 * A server under attack: a whole control plane in this process, without loops, or a stock API server.
 * Attackers come by impersonation of an administrator, so that both authorize and admit them as themselves.
 */
import https from "node:https";
import { join } from "node:path";
import { startPlane } from "#cmd/plane/plane.ts";
import { serviceAddress } from "#cmd/shared/limits.ts";
import { ensurePki } from "#auth/pki-files.ts";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeDisk } from "#platform/node/disk.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { removeDirectory, temporaryDirectory } from "../process/harness.ts";
import { startApiServer } from "../process/stock-apiserver.ts";
import { startStore } from "../process/store-harness.ts";

export interface Attacker {
  readonly name: string;
  readonly groups: readonly string[];
  readonly uid?: string;
}

export interface Attack {
  readonly as?: Attacker;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  /** Content type; JSON when absent. */
  readonly type?: string;
}

export interface AttackAnswer {
  readonly status: number;
  // Tests read fields of many kinds; a wrong one shows as a failed assertion.
  readonly body: AttackJson;
}

export interface AttackJson {
  readonly [field: string]: AttackJson & string & number & readonly AttackJson[];
}

export interface AttackedServer {
  readonly url: string;
  request(attack: Attack): Promise<AttackAnswer>;
  stop(): Promise<void>;
}

/** Our own server: store, registry, RBAC and Node authorizer, every admission plugin, no controllers. */
export async function openPlane(): Promise<AttackedServer> {
  const scratch = temporaryDirectory("attacked");
  const own = { clock: new NodeClock(), random: new NodeRandom(), disk: new NodeDisk() };
  const host = { ...own, log: silentLog };
  const extraHosts = ["127.0.0.1"];
  const pki = ensurePki(join(scratch, "pki"), { ...host, extraHosts, serviceAddress });
  const options = { pki, host: "127.0.0.1", port: 0, nodes: 0, loops: "none" } as const;
  const plane = await startPlane(host, options);
  const agent = new https.Agent({
    keepAlive: true,
    ca: pki.authority.certificate,
    cert: pki.admin.certificate,
    key: pki.admin.privateKey,
  });
  return {
    url: plane.url,
    request: (attack) => send(plane.url, agent, {}, attack),
    async stop() {
      agent.destroy();
      await plane.stop();
      removeDirectory(scratch);
    },
  };
}

const stockArgs = [
  "--authorization-mode=Node",
  "--enable-admission-plugins=NodeRestriction",
  // Kinds this server has and 1.36 has switched off.
  "--feature-gates=PodCertificateRequest=true,ClusterTrustBundle=true",
  "--runtime-config=certificates.k8s.io/v1beta1=true",
];

/** A stock kube-apiserver on our store. */
export async function openStock(program: string): Promise<AttackedServer> {
  const scratch = temporaryDirectory("attacked-stock");
  const data = join(scratch, "data");
  const store = await startStore(["--data-dir", data, "--listen", "127.0.0.1:0"]);
  const args = [`--etcd-servers=${store.url}`, ...stockArgs];
  const api = await startApiServer(program, join(scratch, "api"), args);
  return {
    url: api.url,
    request: (attack) => send(api.url, api.agent, api.headers, attack),
    async stop() {
      await api.stop();
      await store.kill();
      removeDirectory(scratch);
    },
  };
}

function send(
  url: string,
  agent: https.Agent,
  credentials: Readonly<Record<string, string>>,
  { as, method, path, body, type = "application/json" }: Attack,
): Promise<AttackAnswer> {
  const headers = {
    ...credentials,
    ...(body === undefined ? {} : { "content-type": type }),
    ...(as === undefined
      ? {}
      : { "impersonate-user": as.name, "impersonate-group": [...as.groups] }),
    ...(as?.uid === undefined ? {} : { "impersonate-uid": as.uid }),
  };
  return new Promise((resolve, reject) => {
    const call = https.request(url + path, { agent, method, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (text += chunk));
      response.on("error", reject);
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: parsed(text) }));
    });
    call.on("error", reject);
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

function parsed(text: string): AttackJson {
  try {
    return JSON.parse(text) as AttackJson;
  } catch {
    return {};
  }
}
