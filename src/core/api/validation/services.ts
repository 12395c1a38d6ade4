/** Services. Runs after addresses and ports were allocated. Texts as upstream's core/validation. */
import type { FieldError } from "../status.ts";
import { qualifiedNameErrors, subdomainErrors } from "../selectors/label-syntax.ts";
import { dns1123LabelErrors } from "../names.ts";
import { validateLabels } from "../meta.ts";
import { isExternallyAccessible } from "../defaults/core.ts";
import { needsHealthCheckPort } from "../strategies/service.ts";
import type { Fields } from "./fields.ts";
import {
  count,
  has,
  items,
  maybe,
  maybeText,
  number,
  part,
  text,
  textMap,
  texts,
} from "./fields.ts";
import {
  child,
  duplicate,
  forbiddenField,
  index,
  invalidEach,
  invalidValue,
  key,
  required,
  append,
} from "./errors.ts";
import { checkIfGiven, checkOneOf } from "./choices.ts";
import { protocols } from "./containers.ts";
import { immutableText } from "./immutable.ts";
import { checkAddress, checkNotSpecial, checkRange } from "./ip.ts";
import { checkClusterIps, checkClusterIpsUpdate, isHeadless } from "./cluster-ips.ts";
import { checkPort, portNumberErrors } from "./text.ts";

const types = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const affinities = ["ClientIP", "None"];
const affinitySecondsMax = 86_400;
const distributions = ["PreferClose", "PreferSameNode", "PreferSameZone"];
const rangesAnnotation = "service.beta.kubernetes.io/load-balancer-source-ranges";
const onlyLoadBalancer = "may only be used when `type` is 'LoadBalancer'";

export function validateService(service: Fields): FieldError[] {
  return checkService(service, undefined);
}

export function validateServiceUpdate(next: Fields, old: Fields): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(next, "spec");
  const before = part(old, "spec");
  checkClusterIpsUpdate(out, spec, before);
  if (needsHealthCheckPort(before) && needsHealthCheckPort(spec)) {
    if (number(before, "healthCheckNodePort") !== number(spec, "healthCheckNodePort")) {
      out.push(forbiddenField("spec.healthCheckNodePort", immutableText));
    }
  }
  const isSame = text(spec, "loadBalancerClass") === text(before, "loadBalancerClass");
  if (!isSame && isType(spec, "LoadBalancer") && isType(before, "LoadBalancer")) {
    const given = maybeText(spec, "loadBalancerClass");
    out.push(invalidValue("spec.loadBalancerClass", given, "may not change once set"));
  }
  append(out, checkService(next, old));
  return out;
}

function isType(spec: Fields, type: string): boolean {
  return text(spec, "type") === type;
}

function checkService(service: Fields, old: Fields | undefined): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(service, "spec");
  const isName = isType(spec, "ExternalName");
  if (count(spec, "ports") === 0 && !isHeadless(spec) && !isName) out.push(required("spec.ports"));
  checkType(out, spec);
  checkPorts(out, spec);
  append(out, validateLabels(textMap(spec, "selector"), "spec.selector"));
  checkAffinity(out, spec);
  if (!isName) checkClusterIps(out, spec, old);
  checkExternalIps(out, spec, old);
  checkOneOf(out, text(spec, "type"), types, "spec.type");
  checkNodePorts(out, spec);
  checkLoadBalancer(out, service, spec, old);
  checkTrafficPolicies(out, spec);
  checkIfGiven(out, spec["trafficDistribution"], distributions, "spec.trafficDistribution");
  return out;
}

function checkType(out: FieldError[], spec: Fields): void {
  const type = text(spec, "type");
  if (type === "ExternalName") {
    checkExternalName(out, spec);
  } else if ((type === "LoadBalancer" || type === "NodePort") && isHeadless(spec)) {
    const detail = `may not be set to 'None' for ${type} services`;
    out.push(invalidValue("spec.clusterIPs[0]", "None", detail));
  }
}

function checkExternalName(out: FieldError[], spec: Fields): void {
  const detail = "may not be set for ExternalName services";
  for (const field of ["clusterIPs", "ipFamilies"]) {
    if (count(spec, field) > 0) out.push(forbiddenField(child("spec", field), detail));
  }
  if (has(spec, "ipFamilyPolicy")) out.push(forbiddenField("spec.ipFamilyPolicy", detail));
  const name = text(spec, "externalName").replace(/\.$/, "");
  const path = "spec.externalName";
  if (name === "") out.push(required(path));
  else append(out, invalidEach(path, name, subdomainErrors(name)));
}

function checkPorts(out: FieldError[], spec: Fields): void {
  const ports = items(spec, "ports");
  const names = new Set<string>();
  const taken = new Set<string>();
  ports.forEach((port, at) => {
    checkServicePort(out, port, { named: ports.length > 1, names }, index("spec.ports", at));
  });
  ports.forEach((port, at) => {
    const name = `${text(port, "protocol")}/${number(port, "port")}`;
    if (taken.has(name)) out.push(duplicate(index("spec.ports", at), portKey(port)));
    taken.add(name);
  });
}

/** The combination that must be unique among ports, in the form of upstream's struct. */
function portKey(port: Fields): Fields {
  return {
    Name: "",
    Protocol: text(port, "protocol"),
    AppProtocol: null,
    Port: number(port, "port"),
    TargetPort: 0,
    NodePort: 0,
  };
}

function checkServicePort(
  out: FieldError[],
  port: Fields,
  given: { readonly named: boolean; readonly names: Set<string> },
  path: string,
): void {
  const name = text(port, "name");
  const at = child(path, "name");
  if (given.named && name === "") out.push(required(at));
  else if (name !== "") {
    append(out, invalidEach(at, name, dns1123LabelErrors(name)));
    if (given.names.has(name)) out.push(duplicate(at, name));
    given.names.add(name);
  }
  const value = number(port, "port");
  append(out, invalidEach(child(path, "port"), value, portNumberErrors(value)));
  checkOneOf(out, text(port, "protocol"), protocols, child(path, "protocol"));
  checkPort(out, port["targetPort"], child(path, "targetPort"));
  const app = maybeText(port, "appProtocol");
  if (app !== undefined) {
    append(out, invalidEach(child(path, "appProtocol"), app, qualifiedNameErrors(app)));
  }
}

function checkAffinity(out: FieldError[], spec: Fields): void {
  const affinity = text(spec, "sessionAffinity");
  checkOneOf(out, affinity, affinities, "spec.sessionAffinity");
  const path = "spec.sessionAffinityConfig";
  if (affinity === "None" && has(spec, "sessionAffinityConfig")) {
    out.push(forbiddenField(path, "must not be set when session affinity is None"));
  }
  if (affinity !== "ClientIP") return;
  const detail = "when session affinity type is ClientIP";
  const config = maybe(spec, "sessionAffinityConfig");
  if (config === undefined) {
    out.push(required(path, detail));
    return;
  }
  const client = maybe(config, "clientIP");
  if (client === undefined) {
    out.push(required(child(path, "clientIP"), detail));
    return;
  }
  const at = child(path, "clientIP", "timeoutSeconds");
  const seconds = number(client, "timeoutSeconds");
  if (!has(client, "timeoutSeconds")) out.push(required(at, detail));
  else if (seconds <= 0 || seconds > affinitySecondsMax) {
    const range = `must be greater than 0 and less than ${affinitySecondsMax}`;
    out.push(invalidValue(at, seconds, range));
  }
}

/** Addresses that were accepted before are kept. */
function checkExternalIps(out: FieldError[], spec: Fields, old: Fields | undefined): void {
  const kept = new Set(texts(part(old ?? {}, "spec"), "externalIPs"));
  texts(spec, "externalIPs").forEach((address, at) => {
    const path = index("spec.externalIPs", at);
    if (kept.has(address) || !checkAddress(out, address, path)) return;
    checkNotSpecial(out, address, path);
  });
}

function checkNodePorts(out: FieldError[], spec: Fields): void {
  const taken = new Set<string>();
  items(spec, "ports").forEach((port, at) => {
    const value = number(port, "nodePort");
    if (value === 0) return;
    const path = child(index("spec.ports", at), "nodePort");
    if (isType(spec, "ClusterIP")) {
      out.push(forbiddenField(path, "may not be used when `type` is 'ClusterIP'"));
    }
    const name = `${text(port, "protocol")}/${value}`;
    if (taken.has(name)) out.push(duplicate(path, value));
    taken.add(name);
  });
}

function checkLoadBalancer(
  out: FieldError[],
  service: Fields,
  spec: Fields,
  old: Fields | undefined,
): void {
  const balances = isType(spec, "LoadBalancer");
  checkSourceRanges(out, service, spec, old);
  const path = "spec.allocateLoadBalancerNodePorts";
  const given = has(spec, "allocateLoadBalancerNodePorts");
  if (given && !balances) out.push(forbiddenField(path, onlyLoadBalancer));
  if (balances && !given) out.push(required("allocateLoadBalancerNodePorts"));
  const name = maybeText(spec, "loadBalancerClass");
  if (name === undefined) return;
  if (!balances) out.push(forbiddenField("spec.loadBalancerClass", onlyLoadBalancer));
  else append(out, invalidEach("spec.loadBalancerClass", name, qualifiedNameErrors(name)));
}

/** Ranges that were accepted before are kept. */
function checkSourceRanges(
  out: FieldError[],
  service: Fields,
  spec: Fields,
  old: Fields | undefined,
): void {
  const ranges = texts(spec, "loadBalancerSourceRanges");
  const balances = isType(spec, "LoadBalancer");
  if (ranges.length > 0) {
    // The capital letter is upstream's.
    const path = "spec.LoadBalancerSourceRanges";
    if (!balances) out.push(forbiddenField(path, onlyLoadBalancer));
    const before = texts(part(old ?? {}, "spec"), "loadBalancerSourceRanges");
    const kept = new Set(before.map((range) => range.trim()));
    ranges.forEach((range, at) => checkRange(out, range.trim(), index(path, at), kept));
    return;
  }
  const given = textMap(part(service, "metadata"), "annotations")[rangesAnnotation];
  if (given === undefined) return;
  const path = key("metadata.annotations", rangesAnnotation);
  if (!balances) out.push(forbiddenField(path, onlyLoadBalancer));
  const isKept = textMap(part(old ?? {}, "metadata"), "annotations")[rangesAnnotation] === given;
  if (given.trim() === "" || isKept) return;
  for (const range of given.split(",")) checkRange(out, range.trim(), path);
}

function checkTrafficPolicies(out: FieldError[], spec: Fields): void {
  const external = "spec.externalTrafficPolicy";
  const policy = text(spec, "externalTrafficPolicy");
  if (isExternallyAccessible(spec)) {
    checkOneOf(out, policy, ["Cluster", "Local"], external);
  } else if (policy !== "") {
    const detail = "may only be set for externally-accessible services";
    out.push(invalidValue(external, policy, detail));
  }
  checkHealthPort(out, spec);
  const internal = "spec.internalTrafficPolicy";
  if (!has(spec, "internalTrafficPolicy")) {
    if (!isType(spec, "ExternalName") && types.includes(text(spec, "type"))) {
      out.push(required(internal));
    }
    return;
  }
  checkIfGiven(out, spec["internalTrafficPolicy"], ["Cluster", "Local"], internal);
}

function checkHealthPort(out: FieldError[], spec: Fields): void {
  const path = "spec.healthCheckNodePort";
  const port = number(spec, "healthCheckNodePort");
  if (needsHealthCheckPort(spec)) {
    if (port === 0) out.push(required(path));
    else append(out, invalidEach(path, port, portNumberErrors(port)));
  } else if (port !== 0) {
    const detail =
      "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
    out.push(invalidValue(path, port, detail));
  }
}

export function validateServiceStatus(next: Fields, old: Fields): FieldError[] {
  const out: FieldError[] = [];
  const path = "status.loadBalancer.ingress";
  const entries = items(part(part(next, "status"), "loadBalancer"), "ingress");
  if (!isType(part(next, "spec"), "LoadBalancer") && entries.length > 0) {
    out.push(forbiddenField(path, "may only be used when `spec.type` is 'LoadBalancer'"));
    return out;
  }
  const kept = ingressAddresses(old);
  entries.forEach((entry, at) => checkIngressPoint(out, entry, index(path, at), kept));
  return out;
}

/** Load balancer addresses of a Service or an Ingress. */
export function ingressAddresses(object: Fields): ReadonlySet<string> {
  const entries = items(part(part(object, "status"), "loadBalancer"), "ingress");
  return new Set(entries.map((entry) => text(entry, "ip")));
}

/** An address or a name under which a load balancer is reached. */
export function checkIngressPoint(
  out: FieldError[],
  entry: Fields,
  path: string,
  kept: ReadonlySet<string>,
): void {
  const ip = text(entry, "ip");
  if (ip !== "") checkAddress(out, ip, child(path, "ip"), kept);
  const mode = maybeText(entry, "ipMode");
  if (mode !== undefined && ip === "") {
    out.push(forbiddenField(child(path, "ipMode"), "may not be specified when `ip` is not set"));
  }
  checkIfGiven(out, mode, ["Proxy", "VIP"], child(path, "ipMode"));
  const name = text(entry, "hostname");
  if (name !== "") checkHostName(out, name, child(path, "hostname"));
}

function checkHostName(out: FieldError[], name: string, path: string): void {
  append(out, invalidEach(path, name, subdomainErrors(name)));
  if (/^\d{1,3}(\.\d{1,3}){3}$/.test(name)) {
    out.push(invalidValue(path, name, "must be a DNS name, not an IP address"));
  }
}
