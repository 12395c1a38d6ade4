/**
 * What a request to a kubelet's port asks for, and which rights it needs, as the kubelet decides it.
 *
 *   /metrics/resource  /stats/summary  /pods  /healthz  /containerLogs/NAMESPACE/POD/CONTAINER
 *
 * One port serves many nodes: a path names its node before it, `/nodes/NAME/...` or, as kwok,
 * `/metrics/nodes/NAME/...`; without that the Host header may be the node's name.
 */
type KubeletPage = "metrics/resource" | "metrics/probes" | "stats/summary" | "pods" | "healthz";

export type KubeletAsk =
  | { readonly kind: "page"; readonly page: KubeletPage; readonly node: string }
  | {
      readonly kind: "logs";
      readonly namespace: string;
      readonly pod: string;
      readonly container: string;
    }
  | { readonly kind: "unknown" };

const pages: readonly KubeletPage[] = [
  "metrics/resource",
  "metrics/probes",
  "stats/summary",
  "pods",
  "healthz",
];

/** Parses a request to a kubelet. `host`: the Host header, with its port. */
export function kubeletAsk(path: string, host: string): KubeletAsk {
  const named = /^(?:\/metrics)?\/nodes\/([^/]+)(\/.*)$/.exec(path);
  const rest = (named?.[2] ?? path).slice(1).replace(/\/$/, "");
  if (rest.split("/").some(isStep) || isStep(named?.[1] ?? "")) return { kind: "unknown" };
  const page = pages.find((one) => one === rest);
  if (page !== undefined) {
    return { kind: "page", page, node: named?.[1] ?? host.replace(/:[0-9]+$/, "") };
  }
  const [word, namespace = "", pod = "", container = "", ...more] = rest.split("/");
  if (word !== "containerLogs" || container === "" || more.length > 0) return { kind: "unknown" };
  return { kind: "logs", namespace, pod, container };
}

/** Whether the segment is `.` or `..`: no object has that name, and a path built from it may lead elsewhere. */
function isStep(segment: string): boolean {
  return segment === "." || segment === "..";
}

/** Returns the subresources of `nodes` that permit the request; one is enough, as with KubeletFineGrainedAuthz. */
export function kubeletRights(ask: KubeletAsk): readonly string[] {
  if (ask.kind !== "page") return ["proxy"];
  if (ask.page === "stats/summary") return ["stats"];
  if (ask.page === "pods" || ask.page === "healthz") return [ask.page, "proxy"];
  return ["metrics"];
}
