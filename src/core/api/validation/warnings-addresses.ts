/** Warnings about addresses and ranges in another spelling than Go's. */
import {
  addressText,
  isNetworkAddress,
  networkText,
  parseAddress,
  parseRange,
  type Range,
} from "./ip.ts";
import type { Fields } from "./fields.ts";
import { items, maybe, part, text, textMap, texts } from "./fields.ts";
import { child, index } from "./errors.ts";

export function warnAddress(out: string[], value: string, path: string): void {
  const address = parseAddress(value);
  if (address === undefined) return;
  const standard = addressText(address);
  if (!value.includes(":") || standard === value) return;
  const shown = JSON.stringify(value);
  if (address.family === "IPv4") {
    out.push(`${path}: non-standard IP address ${shown} is invalid: use "${standard}"`);
  } else {
    out.push(
      `${path}: IPv6 address ${shown} should be in RFC 5952 canonical format ("${standard}")`,
    );
  }
}

export function warnRange(out: string[], value: string, path: string): void {
  const range = parseRange(value);
  if (range === undefined) return;
  const before = out.length;
  const shown = JSON.stringify(value);
  const network = networkText(range);
  if (!isNetworkAddress(range)) {
    const single = singleText(range);
    const what = `CIDR value ${shown} is ambiguous in this context`;
    out.push(`${path}: ${what} (should be "${network}" or "${single}"?)`);
  }
  if (!value.includes(":")) return;
  if (range.address.family === "IPv4") {
    out.push(`${path}: non-standard CIDR value ${shown} is invalid: use "${network}"`);
  } else if (out.length === before && network !== value) {
    out.push(
      `${path}: IPv6 CIDR value ${shown} should be in RFC 5952 canonical format ("${network}")`,
    );
  }
}

function singleText({ address }: Range): string {
  return `${addressText(address)}/${address.family === "IPv4" ? 32 : 128}`;
}

/** Warnings about the load balancer addresses of services and ingresses. */
export function loadBalancerWarnings(object: Fields): readonly string[] {
  const out: string[] = [];
  const path = child("status", "loadBalancer", "ingress");
  items(part(part(object, "status"), "loadBalancer"), "ingress").forEach((ingress, at) =>
    warnAddress(out, text(ingress, "ip"), index(path, at)),
  );
  return out;
}

const managedBy = "endpoints.kubernetes.io/managed-by";
const sliceManagedBy = "endpointslice.kubernetes.io/managed-by";
const sliceControllers = new Set([
  "endpointslice-controller.k8s.io",
  "endpointslicemirroring-controller.k8s.io",
]);

export function endpointsWarnings(endpoints: Fields): readonly string[] {
  const labels = textMap(part(endpoints, "metadata"), "labels");
  if (labels[managedBy] === "endpoint-controller") return [];
  const out: string[] = [];
  items(endpoints, "subsets").forEach((subset, at) => {
    for (const list of ["addresses", "notReadyAddresses"]) {
      items(subset, list).forEach((address, i) => {
        const here = index(child(index("subsets", at), list), i);
        warnAddress(out, text(address, "ip"), child(here, "ip"));
      });
    }
  });
  return out;
}

export function sliceWarnings(slice: Fields, old: Fields | undefined): readonly string[] {
  const out: string[] = [];
  if (old === undefined && text(slice, "addressType") === "FQDN") {
    out.push("spec.addressType: FQDN endpoints are deprecated");
  }
  const labels = textMap(part(slice, "metadata"), "labels");
  if (sliceControllers.has(labels[sliceManagedBy] ?? "")) return out;
  items(slice, "endpoints").forEach((endpoint, at) =>
    texts(endpoint, "addresses").forEach((address, i) =>
      warnAddress(out, address, index(child(index("endpoints", at), "addresses"), i)),
    ),
  );
  return out;
}

export function networkPolicyWarnings(policy: Fields): readonly string[] {
  const out: string[] = [];
  for (const [direction, peers] of [
    ["ingress", "from"],
    ["egress", "to"],
  ] as const) {
    items(part(policy, "spec"), direction).forEach((rule, at) =>
      items(rule, peers).forEach((peer, i) => {
        const here = index(child(index(child("spec", direction), at), peers), i);
        const block = maybe(peer, "ipBlock");
        if (block !== undefined) warnBlock(out, block, child(here, "ipBlock"));
      }),
    );
  }
  return out;
}

function warnBlock(out: string[], block: Fields, path: string): void {
  warnRange(out, text(block, "cidr"), child(path, "cidr"));
  texts(block, "except").forEach((range, at) =>
    warnRange(out, range, index(child(path, "except"), at)),
  );
}
