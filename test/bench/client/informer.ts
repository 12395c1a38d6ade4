/**
 * One informer of Pods in a process of its own: `informer.ts list|watch-list|client-node URL`. Tells its parent when it
 * has its first list, and how many changes its handler saw each time it is asked.
 */
import type { KubeObject } from "#api/object.ts";
import { connect } from "#cmd/connect.ts";

const [side, url = ""] = process.argv.slice(2);
let updates = 0;
process.on("message", () => process.send?.({ updates, heapBytes: heapBytes() }));
if (side === "client-node") await clientNode();
else await ours(side === "watch-list");
process.send?.("synced");

async function ours(watchList: boolean): Promise<void> {
  const { informers } = await connect({ kubeconfig: url });
  const ref = { group: "", version: "v1", resource: "pods" };
  const pods = informers.informer<KubeObject>(ref, { watchList });
  pods.addHandler({ update: () => void updates++ });
  void informers.run(new AbortController().signal);
  await pods.synced;
}

async function clientNode(): Promise<void> {
  const { CoreV1Api, KubeConfig, makeInformer } = await import("@kubernetes/client-node");
  const config = new KubeConfig();
  config.loadFromClusterAndUser({ name: "c", server: url, skipTLSVerify: true }, { name: "u" });
  const api = config.makeApiClient(CoreV1Api);
  const list = () => api.listPodForAllNamespaces();
  const informer = makeInformer(config, "/api/v1/pods", list);
  informer.on("update", () => void updates++);
  await informer.start();
}

function heapBytes(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}
