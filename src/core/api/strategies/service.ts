/**
 * Services: values that the server allocated survive an update that omits them. They are removed when the
 * type no longer uses them, unless the same update changes them, which validation refuses.
 * Admission allocates new addresses and ports before the strategy runs.
 */
import type { AnyObject } from "../object.ts";
import { isExternallyAccessible } from "../defaults/core.ts";
import type { Fields } from "../validation/fields.ts";
import { has, items, number, part, text, texts, without } from "../validation/fields.ts";
import { semanticEqual } from "../validation/equal.ts";
import type { StrategyRow } from "./build.ts";
import { append } from "../validation/errors.ts";

export const services: StrategyRow = {
  status: { loadBalancer: {} },
  createOnUpdate: true,
  prepareForCreate: (service) =>
    withSpec(service, withoutTrafficPolicy(clusterIpList(part(service, "spec")))),
  prepareForUpdate,
};

function withSpec(service: AnyObject, spec: Fields): AnyObject {
  return service["spec"] === spec ? service : { ...service, spec };
}

/** Old clients set only the single address. */
function clusterIpList(spec: Fields): Fields {
  const ip = text(spec, "clusterIP");
  return ip !== "" && texts(spec, "clusterIPs").length === 0 ? { ...spec, clusterIPs: [ip] } : spec;
}

function prepareForUpdate(next: AnyObject, old: AnyObject): AnyObject {
  const before = part(old, "spec");
  let spec = keepAllocated(part(next, "spec"), before);
  spec = followClusterIp(spec, before);
  spec = withoutTrafficPolicy(dropUnused(spec, before));
  const service = withSpec(next, spec);
  if (isLoadBalancer(spec)) return service;
  return { ...service, status: { ...part(service, "status"), loadBalancer: {} } };
}

/** An ExternalName service has no internal traffic, so upstream omits its internalTrafficPolicy on every read. */
function withoutTrafficPolicy(spec: Fields): Fields {
  const isUnused = !needsClusterIp(spec) && has(spec, "internalTrafficPolicy");
  return isUnused ? without(spec, ["internalTrafficPolicy"]) : spec;
}

function needsClusterIp(spec: Fields): boolean {
  return text(spec, "type") !== "ExternalName";
}

export function needsNodePort(spec: Fields): boolean {
  return text(spec, "type") === "NodePort" || isLoadBalancer(spec);
}

export function needsHealthCheckPort(spec: Fields): boolean {
  return isLoadBalancer(spec) && text(spec, "externalTrafficPolicy") === "Local";
}

function isLoadBalancer(spec: Fields): boolean {
  return text(spec, "type") === "LoadBalancer";
}

function keepAllocated(spec: Fields, before: Fields): Fields {
  const next: Record<string, unknown> = { ...spec };
  if (needsClusterIp(before) && needsClusterIp(spec)) {
    if (text(spec, "clusterIP") === "" && has(before, "clusterIP")) {
      next["clusterIP"] = before["clusterIP"];
    }
    if (texts(spec, "clusterIPs").length === 0 && texts(before, "clusterIPs").length > 0) {
      next["clusterIPs"] = before["clusterIPs"];
    }
    for (const field of ["ipFamilies", "ipFamilyPolicy"]) {
      if (!has(spec, field) && has(before, field)) next[field] = before[field];
    }
  }
  if (needsNodePort(before) && needsNodePort(spec)) next["ports"] = keepNodePorts(spec, before);
  if (needsHealthCheckPort(before) && needsHealthCheckPort(spec)) {
    if (number(spec, "healthCheckNodePort") === 0 && has(before, "healthCheckNodePort")) {
      next["healthCheckNodePort"] = before["healthCheckNodePort"];
    }
  }
  return next;
}

/** A port without a node port keeps the old one of the same name, unless another port requests it. */
function keepNodePorts(spec: Fields, before: Fields): readonly Fields[] {
  const asked = new Set(items(spec, "ports").map((port) => number(port, "nodePort")));
  const byName = new Map<string, number>();
  for (const port of items(before, "ports")) {
    byName.set(text(port, "name"), number(port, "nodePort"));
  }
  return items(spec, "ports").map((port) => {
    if (number(port, "nodePort") !== 0) return port;
    const known = byName.get(text(port, "name")) ?? 0;
    return known === 0 || asked.has(known) ? port : { ...port, nodePort: known };
  });
}

/** clusterIPs is adapted when only clusterIP was changed. */
function followClusterIp(spec: Fields, before: Fields): Fields {
  const ip = text(spec, "clusterIP");
  const was = text(before, "clusterIP");
  if (ip === was || !semanticEqual(spec["clusterIPs"], before["clusterIPs"])) return spec;
  if (was !== "" && ip === "") return without(spec, ["clusterIPs"]);
  return ip === "" ? spec : { ...spec, clusterIPs: [ip] };
}

function dropUnused(spec: Fields, before: Fields): Fields {
  const same = (field: string): boolean => semanticEqual(spec[field], before[field]);
  const gone: string[] = [];
  if (needsClusterIp(before) && !needsClusterIp(spec)) {
    if (same("clusterIP") && same("clusterIPs")) gone.push("clusterIP", "clusterIPs");
    append(gone, ["ipFamilies", "ipFamilyPolicy"].filter(same));
  }
  if (needsHealthCheckPort(before) && !needsHealthCheckPort(spec)) {
    append(gone, ["healthCheckNodePort"].filter(same));
  }
  if (isLoadBalancer(before) && !isLoadBalancer(spec)) {
    append(gone, ["allocateLoadBalancerNodePorts", "loadBalancerClass"].filter(same));
  }
  if (isExternallyAccessible(before) && !isExternallyAccessible(spec)) {
    append(gone, ["externalTrafficPolicy"].filter(same));
  }
  const present = gone.filter((field) => field in spec);
  const next = present.length === 0 ? spec : without(spec, present);
  return needsNodePort(before) && !needsNodePort(spec) ? dropNodePorts(next, before) : next;
}

function dropNodePorts(spec: Fields, before: Fields): Fields {
  const known = new Set(items(before, "ports").map((port) => number(port, "nodePort")));
  const ports = items(spec, "ports");
  if (!ports.every((port) => known.has(number(port, "nodePort")) || !has(port, "nodePort"))) {
    return spec;
  }
  return { ...spec, ports: ports.map((port) => without(port, ["nodePort"])) };
}
