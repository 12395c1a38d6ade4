/** Defaults of the core kinds without a pod template. */
import { type MutableObject, setField } from "../json/json-value.ts";
import type { Fields } from "../validation/fields.ts";
import { has, isFields, maybe, maybeText, part, text, without } from "../validation/fields.ts";
import { encodeBase64Text } from "./base64.ts";
import { azureDisk, claimSpec, hostPath, iscsi, rbd, scaleIO } from "./pod-spec.ts";
import { resourceLists } from "./quantities.ts";
import type { Rule } from "./rules.ts";
import { always, chain, each, fill, fillZero, set, when, within } from "./rules.ts";

/** Default session affinity timeout: three hours. */
const clientIpSeconds = 10_800;

function sessionAffinity(spec: Fields): Fields {
  const next = fillZero({ sessionAffinity: "None" })(spec);
  if (text(next, "sessionAffinity") === "None") {
    return "sessionAffinityConfig" in next ? without(next, ["sessionAffinityConfig"]) : next;
  }
  if (text(next, "sessionAffinity") !== "ClientIP") return next;
  const clientIP = maybe(part(next, "sessionAffinityConfig"), "clientIP");
  if (clientIP !== undefined && has(clientIP, "timeoutSeconds")) return next;
  return set(next, "sessionAffinityConfig", { clientIP: { timeoutSeconds: clientIpSeconds } });
}

function servicePort(port: Fields): Fields {
  const target = port["targetPort"];
  const next = fillZero({ protocol: "TCP" })(port);
  const unset = target === undefined || target === null || target === 0 || target === "";
  return unset && port["port"] !== undefined ? set(next, "targetPort", port["port"]) : next;
}

/** Whether the service is reachable from outside the cluster, by its type or external addresses. */
export function isExternallyAccessible(spec: Fields): boolean {
  const type = text(spec, "type");
  if (type === "NodePort" || type === "LoadBalancer") return true;
  const addresses = spec["externalIPs"];
  return type === "ClusterIP" && Array.isArray(addresses) && addresses.length > 0;
}

function servicePolicies(spec: Fields): Fields {
  let next = spec;
  if (isExternallyAccessible(next)) next = fillZero({ externalTrafficPolicy: "Cluster" })(next);
  const type = text(next, "type");
  if (type === "NodePort" || type === "LoadBalancer" || type === "ClusterIP") {
    next = fill({ internalTrafficPolicy: "Cluster" })(next);
  }
  return type === "LoadBalancer" ? fill({ allocateLoadBalancerNodePorts: true })(next) : next;
}

const ingressIp: Rule = when((ingress) => text(ingress, "ip") !== "", fill({ ipMode: "VIP" }));

export const service: Rule = chain(
  always(
    "spec",
    sessionAffinity,
    fillZero({ type: "ClusterIP" }),
    each("ports", servicePort),
    servicePolicies,
  ),
  (object) =>
    text(part(object, "spec"), "type") === "LoadBalancer"
      ? within("status", within("loadBalancer", each("ingress", ingressIp)))(object)
      : object,
  always("status", always("loadBalancer")),
);

export const endpoints: Rule = each("subsets", each("ports", fillZero({ protocol: "TCP" })));

/** stringData is write-only: it is moved to data. */
function stringData(secret: Fields): Fields {
  const plain = secret["stringData"];
  if (!isFields(plain)) return "stringData" in secret ? without(secret, ["stringData"]) : secret;
  const data: MutableObject = { ...(part(secret, "data") as MutableObject) };
  for (const name in plain) {
    const value = maybeText(plain, name);
    if (value !== undefined) setField(data, name, encodeBase64Text(value));
  }
  return { ...without(secret, ["stringData"]), data };
}

export const secret: Rule = chain(stringData, fillZero({ type: "Opaque" }));

function nameLabel(namespace: Fields): Fields {
  const metadata = part(namespace, "metadata");
  const name = text(metadata, "name");
  if (name === "") return namespace;
  const labels = set(part(metadata, "labels"), "kubernetes.io/metadata.name", name);
  return set(namespace, "metadata", set(metadata, "labels", labels));
}

export const namespace: Rule = chain(
  nameLabel,
  always("spec"),
  always("status", fillZero({ phase: "Active" })),
);

const nodeInfo = {
  machineID: "",
  systemUUID: "",
  bootID: "",
  kernelVersion: "",
  osImage: "",
  containerRuntimeVersion: "",
  kubeletVersion: "",
  kubeProxyVersion: "",
  operatingSystem: "",
  architecture: "",
};

function allocatable(status: Fields): Fields {
  const capacity = status["capacity"];
  return isFields(capacity) ? fill({ allocatable: capacity })(status) : status;
}

/** The first range and the list of ranges are two views of one fact; where they differ, the former is older clients'. */
function podRanges(spec: Fields): Fields {
  const ranges = spec["podCIDRs"];
  const range = text(spec, "podCIDR");
  const first: unknown = Array.isArray(ranges) ? ranges[0] : undefined;
  if (range !== "" && first !== range) return set(spec, "podCIDRs", [range]);
  return first === undefined ? spec : set(spec, "podCIDR", first);
}

export const node: Rule = chain(
  always("spec", podRanges),
  always(
    "status",
    allocatable,
    resourceLists("capacity", "allocatable"),
    always("daemonEndpoints", always("kubeletEndpoint", fill({ Port: 0 }))),
    always("nodeInfo", fill(nodeInfo)),
  ),
);

export const persistentVolume: Rule = chain(
  always(
    "spec",
    fillZero({ persistentVolumeReclaimPolicy: "Retain" }),
    fill({ volumeMode: "Filesystem" }),
    resourceLists("capacity"),
    within("hostPath", hostPath),
    within("rbd", rbd),
    within("iscsi", iscsi),
    within("azureDisk", azureDisk),
    within("scaleIO", scaleIO),
  ),
  always("status", fillZero({ phase: "Pending" })),
);

export const persistentVolumeClaim: Rule = chain(
  always("spec", claimSpec),
  always("status", fillZero({ phase: "Pending" }), resourceLists("capacity", "allocatedResources")),
);

const limitLists = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] as const;

/** Container limits: default from max, defaultRequest from default and then from min. */
function containerLimits(item: Fields): Fields {
  if (text(item, "type") !== "Container") return item;
  const limits = fill(part(item, "max"))(part(item, "default"));
  const requests = chain(fill(limits), fill(part(item, "min")))(part(item, "defaultRequest"));
  const next = Object.keys(limits).length === 0 ? item : set(item, "default", limits);
  return Object.keys(requests).length === 0 ? next : set(next, "defaultRequest", requests);
}

export const limitRange: Rule = always(
  "spec",
  each("limits", containerLimits, resourceLists(...limitLists)),
);

export const resourceQuota: Rule = chain(
  always("spec", resourceLists("hard")),
  always("status", resourceLists("hard", "used")),
);

/** Defaults of events.k8s.io. */
export const eventV1: Rule = chain(
  always("regarding"),
  always("deprecatedSource"),
  fill({ eventTime: null, deprecatedFirstTimestamp: null, deprecatedLastTimestamp: null }),
);

/** Unset times are written as null, as Go does, because clients look for the fields. */
export const event: Rule = chain(
  always("metadata"),
  always("involvedObject"),
  always("source"),
  fill({ reportingComponent: "", reportingInstance: "" }),
  fill({ firstTimestamp: null, lastTimestamp: null, eventTime: null }),
);
