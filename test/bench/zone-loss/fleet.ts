/** Pods and nodes as a watcher sees them: which are ready, which were evicted, second by second. */
import type { Json, KubeHttp } from "../../process/kube-http.ts";
import { progress } from "../store/table.ts";

interface Seen {
  readonly node: string;
  readonly isReady: boolean;
  readonly isGoing: boolean;
}

const zoneLabel = "topology.kubernetes.io/zone";
const failureAnnotation = "pilothouse.dev/failure";
const patchesAtOnce = 32;
const watchesMax = 20;
const merge = "application/merge-patch+json";

export class Fleet {
  readonly #admin: KubeHttp;
  readonly #pods = new Map<string, Seen>();
  readonly zones = new Map<string, string>();
  /** Pods that were given a deletion time. */
  evicted = 0;

  constructor(admin: KubeHttp) {
    this.#admin = admin;
    void this.#watch();
  }

  /** From the state of now, again when a watch ends. */
  async #watch(): Promise<void> {
    for (let watches = 0; watches < watchesMax; watches++) {
      this.#pods.clear();
      const path = "/api/v1/pods?watch=1&resourceVersion=0";
      await this.#admin.watch(path, ({ type, object }) => this.#see(type, object));
      progress("the watch of pods ended");
    }
  }

  #see(type: string, pod: Json): void {
    const uid = String(pod["metadata"]?.["uid"]);
    if (type === "DELETED") return void this.#pods.delete(uid);
    const conditions = (pod["status"]?.["conditions"] ?? []) as readonly Json[];
    const isReady = conditions.some(
      (one) => String(one["type"]) === "Ready" && String(one["status"]) === "True",
    );
    const isGoing = pod["metadata"]?.["deletionTimestamp"] !== undefined;
    if (isGoing && this.#pods.get(uid)?.isGoing === false) this.evicted++;
    this.#pods.set(uid, { node: String(pod["spec"]?.["nodeName"] ?? ""), isReady, isGoing });
  }

  /** Ready pods that stay, on nodes outside of these zones. */
  ready(lost: ReadonlySet<string> = new Set()): number {
    let count = 0;
    for (const { node, isReady, isGoing } of this.#pods.values()) {
      if (isReady && !isGoing && !lost.has(this.zones.get(node) ?? "")) count++;
    }
    return count;
  }

  async readZones(): Promise<number> {
    const { body } = await this.#admin.request("GET", "/api/v1/nodes?resourceVersion=0");
    const items = (body["items"] ?? []) as readonly Json[];
    for (const { metadata } of items) {
      this.zones.set(String(metadata?.["name"]), String(metadata?.["labels"]?.[zoneLabel]));
    }
    return items.length;
  }

  /** `failure` null: the nodes are well again. */
  async fail(nodes: readonly string[], failure: string | null): Promise<void> {
    const left = [...nodes];
    const annotations = { [failureAnnotation]: failure };
    const work = async (): Promise<void> => {
      for (let name = left.pop(); name !== undefined; name = left.pop()) {
        const path = `/api/v1/nodes/${name}`;
        await this.#admin.request("PATCH", path, { metadata: { annotations } }, merge);
      }
    };
    await Promise.all(Array.from({ length: patchesAtOnce }, work));
  }
}
