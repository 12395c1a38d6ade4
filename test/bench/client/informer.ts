/**
 * One informer of Pods in a process of its own: `informer.ts SIDE URL`, sides as in `../client.ts`. Says "loaded" to its
 * parent when its modules are there, "synced" after "start" when it has its first list, and from then on what its
 * handlers saw whenever it is asked. Every handler reads the name and the
 * phase of the object it is given, on all sides alike.
 */
import { once } from "node:events";
import type { Pod } from "#api/gen/types.ts";

const [side = "", url = ""] = process.argv.slice(2);
const seen = { adds: 0, updates: 0, running: 0, nameChars: 0 };
process.on("SIGTERM", () => process.exit(0));
const isOurs = side !== "client-node";
const [library, ourLibrary] = isOurs
  ? [undefined, await import("#cmd/connect.ts")]
  : [await import("@kubernetes/client-node"), undefined];
process.send?.("loaded");
await once(process, "message");
if (library === undefined) await ours(ourLibrary);
else await clientNode(library);
process.on("message", () => process.send?.({ ...seen, ...memory() }));
process.send?.("synced");

interface Read {
  readonly metadata?: { readonly name?: string };
  readonly status?: { readonly phase?: string };
}

function read({ metadata, status }: Read): void {
  if (status?.phase === "Running") seen.running++;
  seen.nameChars += metadata?.name?.length ?? 0;
}

function added(pod: Read): void {
  seen.adds++;
  read(pod);
}

function updated(pod: Read): void {
  seen.updates++;
  read(pod);
}

async function ours({ connect }: typeof import("#cmd/connect.ts")): Promise<void> {
  const [encoding = "json", ...options] = side.split(",");
  const isProtobuf = encoding === "protobuf";
  const { informers } = await connect({
    kubeconfig: url,
    encoding: isProtobuf ? "protobuf" : "json",
  });
  const ref = { group: "", version: "v1", resource: "pods" };
  const watchList = options.includes("watchList");
  const keepsDecoded = options.includes("keepsDecoded");
  const pods = informers.informer<Pod>(ref, { watchList, keepsDecoded });
  pods.addHandler({ add: added, update: (_old, pod) => updated(pod), delete: read });
  void informers.run(new AbortController().signal);
  await pods.synced;
}

async function clientNode(library: typeof import("@kubernetes/client-node")): Promise<void> {
  const { CoreV1Api, KubeConfig, makeInformer } = library;
  const config = new KubeConfig();
  config.loadFromClusterAndUser({ name: "c", server: url, skipTLSVerify: true }, { name: "u" });
  const api = config.makeApiClient(CoreV1Api);
  const list = () => api.listPodForAllNamespaces();
  const informer = makeInformer(config, "/api/v1/pods", list);
  informer.on("add", added);
  informer.on("update", updated);
  informer.on("delete", read);
  await informer.start();
}

/** What is still needed: the heap after a collection, and buffers outside of it. */
function memory() {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return { heapBytes: heapUsed, heldBytes: heapUsed + external };
}
