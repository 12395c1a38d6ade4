/**
 * A control plane without nodes whose aggregated API servers are processes or servers of the test: addresses
 * of EndpointSlices, which may be no loopback addresses, are mapped to loopback ports.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import https from "node:https";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { given } from "#base/given.ts";
import { kubeconfigYaml } from "#auth/kubeconfig.ts";
import { ensurePki, type Pki } from "#auth/pki-files.ts";
import { type IssuedCertificate, makeAuthority, makeServerCertificate } from "#auth/pki.ts";
import type { AggregationAccess } from "#cmd/plane/aggregation.ts";
import * as limits from "#cmd/shared/limits.ts";
import { type Plane, startPlane } from "#cmd/plane/plane.ts";
import type { Host } from "#platform/byte-transport.ts";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeDisk } from "#platform/node/disk.ts";
import { hostsTransport } from "#platform/node/http/http-hosts.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { bound } from "../process/bound-child.ts";
import { removeDirectory, temporaryDirectory } from "../process/harness.ts";
import type { SampleOptions, SeenRequest } from "./sample-server.ts";

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  // Tests read fields of many kinds; a wrong one shows as a failed assertion.
  readonly json: Json;
}

export interface Json {
  readonly [field: string]: Json;
}

/** Of a value that the test says is a text; "" when it is something else. */
export function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Of a value that the test says is a list; none when it is absent. */
export function items(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}

export interface Asked {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface AggregatedPlane {
  readonly plane: Plane;
  readonly pki: Pki;
  readonly kubeconfig: string;
  readonly scratch: string;
  /** `10.3.0.1:443` to a loopback port; what is not here is refused. */
  readonly ports: Map<string, number>;
  /** Every host that was connected to, as `address:port`. */
  readonly reached: string[];
  ask(method: string, path: string, asked?: Asked): Promise<Answer>;
  /** A TLS connection to the plane, as the administrator. */
  socket(): TLSSocket;
  stop(): Promise<void>;
}

export async function startAggregatedPlane(
  options: { readonly loops?: "none"; readonly aggregation?: AggregationAccess } = {},
): Promise<AggregatedPlane> {
  const scratch = temporaryDirectory("aggregation");
  const own = { clock: new NodeClock(), random: new NodeRandom(), disk: new NodeDisk() };
  const host = { ...own, log: silentLog };
  const { serviceAddress } = limits;
  const pki = ensurePki(join(scratch, "pki"), { ...host, extraHosts: [], serviceAddress });
  const ports = new Map<string, number>();
  const reached: string[] = [];
  const plane = await startPlane(host, {
    pki,
    host: "127.0.0.1",
    port: 0,
    nodes: 0,
    aggregation: { makeTransport: mapped(pki, ports, reached), ...options.aggregation },
    ...given({ loops: options.loops }),
  });
  const credentials = {
    ca: pki.authority.certificate,
    cert: pki.admin.certificate,
    key: pki.admin.privateKey,
  };
  const agent = new https.Agent({ keepAlive: true, servername: "localhost", ...credentials });
  const shown = { server: plane.url, user: "kubernetes-admin", cluster: "pilothouse" };
  const port = Number(new URL(plane.url).port);
  return {
    plane,
    pki,
    kubeconfig: kubeconfigYaml({ ...shown, ...credentials }),
    scratch,
    ports,
    reached,
    ask: (method, path, asked = {}) => ask(plane.url, agent, method, path, asked),
    socket: () => connect({ port, host: "127.0.0.1", servername: "localhost", ...credentials }),
    async stop() {
      agent.destroy();
      await plane.stop();
      removeDirectory(scratch);
    },
  };
}

function mapped(
  pki: Pki,
  ports: ReadonlyMap<string, number>,
  reached: string[],
): NonNullable<AggregationAccess["makeTransport"]> {
  const { certificate, privateKey: key } = pki.frontProxyClient;
  const place = (host: Host): Host => {
    const at = `${host.address ?? host.name}:${host.port}`;
    reached.push(at);
    // Discard: nobody listens there.
    return { ...host, address: "127.0.0.1", port: ports.get(at) ?? 9 };
  };
  return (ca) => {
    const credentials = { certificate, key, ...given({ ca }) };
    const transport = hostsTransport({
      credentials: () => credentials,
      limits: limits.aggregatedConnections,
    });
    return { ...transport, send: (host, request) => transport.send(place(host), request) };
  };
}

function ask(
  url: string,
  agent: https.Agent,
  method: string,
  path: string,
  { headers = {}, body }: Asked,
): Promise<Answer> {
  const sent = body === undefined ? undefined : JSON.stringify(body);
  const framed =
    sent === undefined
      ? {}
      : { "content-type": "application/json", "content-length": String(Buffer.byteLength(sent)) };
  const { port } = new URL(url);
  return new Promise((resolve, reject) => {
    // Not as a URL, which would clean the path.
    const options = {
      agent,
      method,
      host: "127.0.0.1",
      port,
      path,
      headers: { ...framed, ...headers },
    };
    const call = https.request(options, (response) => {
      let got = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (got += chunk));
      response.on("error", reject);
      response.on("end", () => {
        const { statusCode: status = 0 } = response;
        resolve({ status, headers: response.headers, text: got, json: parsed(got) });
      });
    });
    call.on("error", reject);
    call.end(sent);
  });
}

function parsed(body: string): Json {
  try {
    return JSON.parse(body) as Json;
  } catch {
    return {};
  }
}

export async function must(answer: Promise<Answer>): Promise<Answer> {
  const got = await answer;
  if (got.status >= 300) throw new Error(`${got.status}: ${got.text}`);
  return got;
}

const rbac = "/apis/rbac.authorization.k8s.io/v1";

/** Makes the namespace, and an account with upstream's two bindings. @returns its token. */
export async function makeAccount(world: AggregatedPlane, namespace: string): Promise<string> {
  await must(world.ask("POST", "/api/v1/namespaces", { body: { metadata: { name: namespace } } }));
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  await must(world.ask("POST", accounts, { body: { metadata: { name: "apiserver" } } }));
  const subjects = [{ kind: "ServiceAccount", name: "apiserver", namespace }];
  const roleRef = (kind: string, role: string) => ({
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind, name: role },
    metadata: { name: `wardle-${kind.toLowerCase()}` },
    subjects,
  });
  const bindings = `${rbac}/clusterrolebindings`;
  const delegator = roleRef("ClusterRole", "system:auth-delegator");
  await must(world.ask("POST", bindings, { body: delegator }));
  const reader = roleRef("Role", "extension-apiserver-authentication-reader");
  const inSystem = `${rbac}/namespaces/kube-system/rolebindings`;
  await must(world.ask("POST", inSystem, { body: reader }));
  const { json } = await must(world.ask("POST", `${accounts}/apiserver/token`, { body: {} }));
  return text(json["status"]?.["token"]);
}

/** The sample server as Service `wardle` of this namespace, registered and available. */
export async function startWardle(
  world: AggregatedPlane,
  namespace: string,
): Promise<SampleServer> {
  const token = await makeAccount(world, namespace);
  const { authority, server } = servingCertificate("wardle", namespace);
  const cluster = { url: world.plane.url, ca: world.pki.authority.certificate, token };
  const sample = await startSampleServer({ cluster, ...server, speaksAggregated: true });
  const service = { name: "wardle", namespace };
  await makeService(world, { ...service, address: "10.3.0.1", port: sample.port });
  const named = { group: "wardle.example.com", version: "v1alpha1" };
  const condition = await register(world, { ...named, service, ca: authority.certificate });
  if (text(condition["reason"]) !== "Passed") throw new Error(JSON.stringify(condition));
  return sample;
}

export interface Served {
  readonly authority: IssuedCertificate;
  readonly server: IssuedCertificate;
}

/** A certificate for `<name>.<namespace>.svc`, of an authority of its own. */
export function servingCertificate(name: string, namespace: string): Served {
  const random = new NodeRandom();
  const nowMs = new NodeClock().nowMs();
  const validity = { notBeforeMs: nowMs - 3_600_000, notAfterMs: nowMs + 86_400_000 };
  const authority = makeAuthority("wardle-ca", { validity, serial: random.bytes(16) });
  const issue = { validity, serial: random.bytes(16) };
  const server = makeServerCertificate(authority, name, [`${name}.${namespace}.svc`], issue);
  return { authority, server };
}

export interface Behind {
  readonly name: string;
  readonly namespace: string;
  readonly address: string;
  /** Where the address leads: a loopback port. */
  readonly port: number;
}

/** A Service without selector, and its EndpointSlice. */
export async function makeService(world: AggregatedPlane, behind: Behind): Promise<void> {
  const { name, namespace, address, port } = behind;
  const services = `/api/v1/namespaces/${namespace}/services`;
  const spec = { ports: [{ port: 443, targetPort: 8443 }] };
  await must(world.ask("POST", services, { body: { metadata: { name }, spec } }));
  world.ports.set(`${address}:8443`, port);
  await makeSlice(world, behind);
}

export async function makeSlice(
  world: AggregatedPlane,
  { name, namespace, address }: Omit<Behind, "port">,
): Promise<void> {
  const slices = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
  const metadata = { name, labels: { "kubernetes.io/service-name": name } };
  const body = {
    metadata,
    addressType: "IPv4",
    ports: [{ name: "", port: 8443 }],
    endpoints: [{ addresses: [address] }],
  };
  await must(world.ask("POST", slices, { body }));
}

export interface Registered {
  readonly group: string;
  readonly version: string;
  readonly service: { readonly name: string; readonly namespace: string; readonly port?: number };
  /** PEM; absent: nothing is verified. */
  readonly ca?: string;
}

export const apiServices = "/apis/apiregistration.k8s.io/v1/apiservices";

export function apiService({ group, version, service, ca }: Registered): object {
  const trust =
    ca === undefined
      ? { insecureSkipTLSVerify: true }
      : { caBundle: Buffer.from(ca).toString("base64") };
  return {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name: `${version}.${group}` },
    spec: { group, version, service, groupPriorityMinimum: 2000, versionPriority: 200, ...trust },
  };
}

/** Registers it and waits until its condition is `status`. */
export async function register(
  world: AggregatedPlane,
  registered: Registered,
  status = "True",
): Promise<Json> {
  await must(world.ask("POST", apiServices, { body: apiService(registered) }));
  return conditionIs(world, `${registered.version}.${registered.group}`, status);
}

/** A test that waits for longer would wait for good. */
const waitMsMax = 60_000;

export async function conditionIs(
  world: AggregatedPlane,
  name: string,
  status: string,
  reason?: string,
): Promise<Json> {
  return until(
    async () => {
      const { json } = await world.ask("GET", `${apiServices}/${name}`);
      const [condition] = items(json["status"]?.["conditions"]);
      const isReason = reason === undefined || text(condition?.["reason"]) === reason;
      return isReason && text(condition?.["status"]) === status ? condition : undefined;
    },
    `${name} is not ${status} ${reason ?? ""}`,
  );
}

/** Asks again and again, with no pause but the answers' own. */
export async function until<T>(look: () => Promise<T | undefined>, why: string): Promise<T> {
  const deadline = performance.now() + waitMsMax;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > deadline) throw new Error(why);
  }
}

export interface SampleServer {
  readonly port: number;
  /** Requests as they came, probes and documents included. */
  readonly seen: readonly SeenRequest[];
  /** Ends the process at once. */
  kill(): Promise<void>;
}

export async function startSampleServer(options: SampleOptions): Promise<SampleServer> {
  const program = new URL("./sample-server.ts", import.meta.url).pathname;
  const stdio = ["ignore", "inherit", "inherit", "ipc"] as const;
  const child = bound(spawn(process.execPath, [program], { stdio: [...stdio] }));
  const seen: SeenRequest[] = [];
  const started = new Promise<number>((resolve, reject) => {
    child.on("message", (message: { port?: number; seen?: SeenRequest }) => {
      if (message.port !== undefined) resolve(message.port);
      if (message.seen !== undefined) seen.push(message.seen);
    });
    child.once("exit", () => reject(new Error("the sample server ended")));
  });
  child.send(options);
  const port = await started;
  const ended = once(child, "exit");
  return {
    port,
    seen,
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
