/**
 * A plane without loops whose way to nodes leads to fake kubelets. Addresses of pods and nodes that are no
 * loopback addresses are mapped to loopback ports, so that no traffic leaves the machine.
 */
import https from "node:https";
import { connect, type TLSSocket } from "node:tls";
import { join } from "node:path";
import { given } from "#base/given.ts";
import { openKubelets, type KubeletAccess } from "#cmd/plane/kubelets.ts";
import { startPlane, type Plane } from "#cmd/plane/plane.ts";
import { serviceAddress } from "#cmd/shared/limits.ts";
import { kubeconfigYaml } from "#auth/kubeconfig.ts";
import { ensurePki, type Pki } from "#auth/pki-files.ts";
import type { StreamLimits } from "#apiserver/kubelet/open-streams.ts";
import { OpenStreams } from "#apiserver/kubelet/open-streams.ts";
import type { Host, HostsTransport } from "#platform/byte-transport.ts";
import { silentLog } from "#platform/log.ts";
import type { Audit } from "#server/audit/trail.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeDisk } from "#platform/node/disk.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { removeDirectory, temporaryDirectory } from "../harness.ts";

export interface KubeletPlane {
  readonly plane: Plane;
  readonly pki: Pki;
  readonly scratch: string;
  readonly kubeconfig: string;
  readonly streams: OpenStreams;
  /** Every host that was connected to, as `address:port`. */
  readonly reached: string[];
  ask(method: string, path: string, options?: AskOptions): Promise<PlaneAnswer>;
  /** A TLS connection to the plane, as the administrator. */
  socket(): TLSSocket;
  stop(): Promise<void>;
}

export interface AskOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Already text. */
  readonly text?: string;
}

export interface PlaneAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  readonly message: string;
}

export interface KubeletPlaneOptions extends KubeletAccess {
  /** `10.1.2.3:8080` to a loopback port. */
  readonly ports?: Map<string, number>;
  readonly names?: Readonly<Record<string, readonly string[]>>;
  readonly limits?: StreamLimits;
  readonly audit?: Audit;
}

export async function startKubeletPlane(options: KubeletPlaneOptions = {}): Promise<KubeletPlane> {
  const scratch = temporaryDirectory("kubelet");
  const host = {
    clock: new NodeClock(),
    random: new NodeRandom(),
    disk: new NodeDisk(),
    log: silentLog,
  };
  const pki = ensurePki(join(scratch, "pki"), { ...host, extraHosts: [], serviceAddress });
  const opened = openKubelets(host, pki, options);
  const reached: string[] = [];
  const streams =
    options.limits === undefined ? opened.kubelets.streams : new OpenStreams(options.limits);
  const map = (transport: HostsTransport): HostsTransport => mapped(transport, options, reached);
  const kubelets = {
    ...opened.kubelets,
    streams,
    verified: map(opened.kubelets.verified),
    unverified: map(opened.kubelets.unverified),
    backends: map(opened.kubelets.backends),
  };
  const plane = await startPlane(host, {
    pki,
    host: "127.0.0.1",
    port: 0,
    nodes: 0,
    loops: "none",
    kubelets: { ...opened, kubelets },
    ...given({ audit: options.audit }),
  });
  const credentials = {
    ca: pki.authority.certificate,
    cert: pki.admin.certificate,
    key: pki.admin.privateKey,
  };
  // Otherwise node:https expects the name of the Host header.
  const agent = new https.Agent({ keepAlive: true, servername: "localhost", ...credentials });
  const kubeconfig = kubeconfigYaml({
    server: plane.url,
    ca: credentials.ca,
    cert: credentials.cert,
    key: credentials.key,
    user: "kubernetes-admin",
    cluster: "pilothouse",
  });
  const port = Number(new URL(plane.url).port);
  return {
    plane,
    pki,
    scratch,
    kubeconfig,
    streams,
    reached,
    ask: (method, path, more = {}) => ask(plane.url, agent, method, path, more),
    socket: () => connect({ port, host: "127.0.0.1", servername: "localhost", ...credentials }),
    async stop() {
      agent.destroy();
      await plane.stop();
      removeDirectory(scratch);
    },
  };
}

/** Other hosts than loopback's are reached at the port they are mapped to, or refused. */
function mapped(
  transport: HostsTransport,
  { ports, names = {} }: KubeletPlaneOptions,
  reached: string[],
): HostsTransport {
  const place = (host: Host): Host => {
    const at = `${host.address ?? host.name}:${host.port}`;
    reached.push(at);
    const port = ports?.get(at);
    if (port !== undefined) return { ...host, address: "127.0.0.1", port };
    if ((host.address ?? host.name).startsWith("127.")) return host;
    // Discard: nobody listens there.
    return { ...host, address: "127.0.0.1", port: 9 };
  };
  return {
    send: (host, request) => transport.send(place(host), request),
    resolve: (name) => Promise.resolve(names[name] ?? [name]),
    close: () => transport.close(),
  };
}

function ask(
  url: string,
  agent: https.Agent,
  method: string,
  path: string,
  { headers = {}, body, text }: AskOptions,
): Promise<PlaneAnswer> {
  const sent = text ?? (body === undefined ? undefined : JSON.stringify(body));
  // node:https frames no body of DELETE and OPTIONS by itself.
  const length = sent === undefined ? {} : { "content-length": String(Buffer.byteLength(sent)) };
  const type = body === undefined ? length : { ...length, "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const options = { agent, method, headers: { ...type, ...headers } };
    const call = https.request(url + path, options, (response) => {
      let got = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (got += chunk));
      response.on("error", reject);
      response.on("end", () => {
        const { statusCode: status = 0 } = response;
        resolve({ status, headers: response.headers, text: got, message: messageOf(got) });
      });
    });
    call.on("error", reject);
    call.end(sent);
  });
}

function messageOf(text: string): string {
  try {
    return (JSON.parse(text) as { message?: string }).message ?? "";
  } catch {
    return "";
  }
}

export const podsPath = "/api/v1/namespaces/default/pods";

/** A node whose kubelet is at `address` and `port`. */
export async function makeNode(
  world: KubeletPlane,
  name: string,
  port: number,
  { address = "127.0.0.1", features = [] as readonly string[], type = "InternalIP" } = {},
): Promise<void> {
  const status = {
    addresses: [{ type, address }],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
    declaredFeatures: features,
  };
  await must(world.ask("POST", "/api/v1/nodes", { body: { metadata: { name } } }));
  const patch = { body: { status }, headers: { "content-type": "application/merge-patch+json" } };
  await must(world.ask("PATCH", `/api/v1/nodes/${name}/status`, patch));
}

export async function makePod(
  world: KubeletPlane,
  name: string,
  nodeName: string,
  { containers = ["c"] as readonly string[], ip = "", port = 0 } = {},
): Promise<void> {
  const ports = port === 0 ? {} : { ports: [{ containerPort: port }] };
  const spec = {
    automountServiceAccountToken: false,
    ...(nodeName === "" ? {} : { nodeName }),
    containers: containers.map((one) => ({ name: one, image: "i", ...ports })),
  };
  await must(world.ask("POST", podsPath, { body: { metadata: { name }, spec } }));
  if (ip === "") return;
  const status = { podIP: ip, podIPs: [{ ip }] };
  const patch = { body: { status }, headers: { "content-type": "application/merge-patch+json" } };
  await must(world.ask("PATCH", `${podsPath}/${name}/status`, patch));
}

/** What admission asks of a namespace before it takes pods. */
export async function makeServiceAccount(world: KubeletPlane): Promise<void> {
  const path = "/api/v1/namespaces/default/serviceaccounts";
  await must(world.ask("POST", path, { body: { metadata: { name: "default" } } }));
}

export async function must(answer: Promise<PlaneAnswer>): Promise<PlaneAnswer> {
  const got = await answer;
  if (got.status >= 300) throw new Error(`${got.status}: ${got.text}`);
  return got;
}

/** A test that waits for longer would wait for good. */
const releaseMsMax = 60_000;

/** Resolves when the plane holds no connection to a node, a pod or a Service any more. */
export async function allReleased({ streams }: KubeletPlane): Promise<void> {
  const deadline = performance.now() + releaseMsMax;
  while (streams.open > 0) {
    if (performance.now() > deadline) throw new Error(`${streams.open} connections are still open`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
