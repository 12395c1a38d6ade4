/** A stock kube-apiserver as a process of its own, on whatever speaks etcd's API. */
import { spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import https from "node:https";
import { createServer } from "node:net";
import { join } from "node:path";
import { bound } from "./bound-child.ts";

const startMsMax = 120_000;
const token = "tok";
const user = "kubernetes-admin";
const headers = { authorization: `Bearer ${token}` };

export interface ApiAnswer {
  readonly status: number;
  // Tests read fields of many kinds; a wrong one shows as a failed assertion.
  readonly body: ApiJson;
}

export interface ApiJson {
  readonly [field: string]: ApiJson & string & number & readonly ApiJson[];
}

export interface StockApiServer {
  readonly url: string;
  readonly pid: number;
  readonly agent: https.Agent;
  /** Who asks: an administrator. */
  readonly headers: Readonly<Record<string, string>>;
  readonly kubeconfig: string;
  /** Rejects when there is no whole answer. */
  request(method: string, path: string, body?: unknown): Promise<ApiAnswer>;
  log(): string;
  stop(): Promise<void>;
}

/** `directory` is for its keys, certificates and log; the caller removes it. `hasModes` false: `args` say who is asked what a user may do. */
export async function startApiServer(
  program: string,
  directory: string,
  args: readonly string[],
  { hasModes = true } = {},
): Promise<StockApiServer> {
  mkdirSync(join(directory, "certs"), { recursive: true });
  writeKeys(directory);
  const port = await freePort();
  const url = `https://127.0.0.1:${port}`;
  const kubeconfig = writeKubeconfig(directory, url);
  const log = join(directory, "api.log");
  const out = openSync(log, "a");
  const modes = hasModes ? ["--authorization-mode=RBAC"] : [];
  const listen = [`--secure-port=${port}`, "--bind-address=127.0.0.1"];
  const own = [...listen, ...fixedArgs, ...modes, ...args];
  const child = bound(spawn(program, own, { cwd: directory, stdio: ["ignore", out, out] }));
  const gone = new Promise<void>((resolve) => child.on("exit", () => resolve()));
  const agent = new https.Agent({ keepAlive: true, rejectUnauthorized: false });
  const server: StockApiServer = {
    url,
    pid: child.pid ?? 0,
    agent,
    headers,
    kubeconfig,
    request: (method, path, body) => request(url + path, { method, agent }, body),
    log: () => readFileSync(log, "utf8"),
    async stop() {
      agent.destroy();
      child.kill("SIGKILL");
      await gone;
    },
  };
  await until("the stock server is ready", async () => {
    if (child.exitCode !== null) throw new Error(`it ended:\n${server.log()}`);
    return ready(server);
  });
  return server;
}

const fixedArgs = [
  "--cert-dir=certs",
  "--service-account-key-file=sa.pub",
  "--service-account-signing-key-file=sa.key",
  "--service-account-issuer=https://kubernetes.default.svc",
  "--token-auth-file=tokens.csv",
  "--service-cluster-ip-range=10.96.0.0/16",
];

/** Asks until it is so. */
export async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + startMsMax;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`not within ${startMsMax} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function writeKeys(directory: string): void {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  writeFileSync(join(directory, "sa.pub"), publicKey.export({ type: "spki", format: "pem" }));
  const privatePem = privateKey.export({ type: "pkcs1", format: "pem" });
  writeFileSync(join(directory, "sa.key"), privatePem, { mode: 0o600 });
  writeFileSync(join(directory, "tokens.csv"), `${token},${user},1,"system:masters"\n`);
}

/** JSON is YAML too. */
function writeKubeconfig(directory: string, server: string): string {
  const path = join(directory, "kubeconfig");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "stock",
    contexts: [{ name: "stock", context: { cluster: "stock", user } }],
    clusters: [{ name: "stock", cluster: { server, "insecure-skip-tls-verify": true } }],
    users: [{ name: user, user: { token } }],
  };
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}

export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() =>
        resolve(typeof address === "object" && address !== null ? address.port : 0),
      );
    });
  });
}

/** Ready includes the bootstrap roles and the default namespace. */
async function ready(server: StockApiServer): Promise<boolean> {
  const paths = ["/readyz", "/api/v1/namespaces/default", "/api/v1/namespaces/kube-system"];
  const answers = paths.map((path) =>
    server.request("GET", path).then(
      ({ status }) => status === 200,
      () => false,
    ),
  );
  return (await Promise.all(answers)).every(Boolean);
}

function request(url: string, options: https.RequestOptions, body: unknown): Promise<ApiAnswer> {
  const all = { ...headers, "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const call = https.request(url, { ...options, headers: all }, (response) => {
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

/** Some answers, /readyz's for one, are plain text. */
function parsed(text: string): ApiJson {
  try {
    return JSON.parse(text) as ApiJson;
  } catch {
    return {};
  }
}
