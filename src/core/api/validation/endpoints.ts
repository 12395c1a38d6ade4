/** Endpoints and endpoint slices. Texts as upstream's core and discovery validation. */
import type { FieldError } from "../status.ts";
import { qualifiedNameErrors } from "../selectors/label-syntax.ts";
import { dns1123LabelErrors, dnsSubdomainName } from "../names.ts";
import { validateLabels } from "../meta.ts";
import type { Fields } from "./fields.ts";
import { count, items, maybeText, number, part, text, textMap, texts } from "./fields.ts";
import {
  child,
  duplicate,
  forbiddenField,
  index,
  invalidEach,
  required,
  tooMany,
  append,
} from "./errors.ts";
import { checkIfGiven, checkOneOf } from "./choices.ts";
import { protocols } from "./containers.ts";
import { semanticEqual } from "./equal.ts";
import { checkImmutable } from "./immutable.ts";
import { checkAddress, checkCanonicalAddress, checkFamily, checkNotSpecial } from "./ip.ts";
import { checkDomainName, portNumberErrors } from "./text.ts";

const endpointsMax = 1000;
const addressesMax = 100;
const portsMax = 20_000;
const topologyLabelsMax = 16;
const zoneHintsMax = 8;
const nodeHintsMax = 8;
const addressTypes = ["FQDN", "IPv4", "IPv6"];

/** Addresses accepted by older releases are kept as long as they do not change. */
export function validateEndpointsUpdate(next: Fields, old: Fields): FieldError[] {
  const out = validateEndpoints(next);
  if (out.length > 0 && semanticEqual(next["subsets"], old["subsets"])) return [];
  return out;
}

export function validateEndpoints(endpoints: Fields): FieldError[] {
  const out: FieldError[] = [];
  items(endpoints, "subsets").forEach((subset, at) =>
    checkSubset(out, subset, index("subsets", at)),
  );
  return out;
}

function checkSubset(out: FieldError[], subset: Fields, path: string): void {
  const lists = ["addresses", "notReadyAddresses"];
  if (lists.every((list) => count(subset, list) === 0)) {
    out.push(required(path, "must specify `addresses` or `notReadyAddresses`"));
  }
  for (const list of lists) {
    items(subset, list).forEach((address, at) => {
      checkEndpointAddress(out, address, index(child(path, list), at));
    });
  }
  const ports = items(subset, "ports");
  ports.forEach((port, at) => {
    checkEndpointPort(out, port, ports.length > 1, index(child(path, "ports"), at));
  });
}

function checkEndpointAddress(out: FieldError[], address: Fields, path: string): void {
  const ip = text(address, "ip");
  if (checkAddress(out, ip, child(path, "ip"))) checkNotSpecial(out, ip, child(path, "ip"));
  const host = text(address, "hostname");
  if (host !== "")
    append(out, invalidEach(child(path, "hostname"), host, dns1123LabelErrors(host)));
  const node = maybeText(address, "nodeName");
  if (node === undefined) return;
  append(out, invalidEach(child(path, "nodeName"), node, dnsSubdomainName(node, false)));
}

function checkEndpointPort(out: FieldError[], port: Fields, named: boolean, path: string): void {
  const name = text(port, "name");
  if (named && name === "") out.push(required(child(path, "name")));
  else if (name !== "") {
    append(out, invalidEach(child(path, "name"), name, dns1123LabelErrors(name)));
  }
  const value = number(port, "port");
  append(out, invalidEach(child(path, "port"), value, portNumberErrors(value)));
  checkOneOf(out, text(port, "protocol"), protocols, child(path, "protocol"));
  const app = maybeText(port, "appProtocol");
  if (app === undefined) return;
  append(out, invalidEach(child(path, "appProtocol"), app, qualifiedNameErrors(app)));
}

export function validateSlice(slice: Fields): FieldError[] {
  const out: FieldError[] = [];
  const type = text(slice, "addressType");
  checkOneOf(out, type, addressTypes, "addressType");
  checkSlicePorts(out, items(slice, "ports"));
  const endpoints = items(slice, "endpoints");
  if (endpoints.length > endpointsMax) {
    out.push(tooMany("endpoints", endpoints.length, endpointsMax));
  } else {
    endpoints.forEach((endpoint, at) => {
      checkEndpoint(out, endpoint, type, index("endpoints", at));
    });
  }
  return out;
}

export function validateEndpointSliceUpdate(next: Fields, old: Fields): FieldError[] {
  const found = validateSlice(next);
  const isKept = found.length > 0 && semanticEqual(next["endpoints"], old["endpoints"]);
  const out = isKept ? found.filter(({ field }) => !field.startsWith("endpoints")) : found;
  checkImmutable(out, next, old, { field: "addressType", path: "" });
  return out;
}

function checkEndpoint(out: FieldError[], endpoint: Fields, type: string, path: string): void {
  const addresses = texts(endpoint, "addresses");
  const at = child(path, "addresses");
  if (addresses.length === 0) out.push(required(at, "must contain at least 1 address"));
  else if (addresses.length > addressesMax) {
    out.push(tooMany(at, addresses.length, addressesMax));
  }
  addresses.forEach((address, i) => checkSliceAddress(out, address, type, index(at, i)));
  const node = maybeText(endpoint, "nodeName");
  if (node !== undefined) {
    append(out, invalidEach(child(path, "nodeName"), node, dnsSubdomainName(node, false)));
  }
  checkTopology(out, textMap(endpoint, "deprecatedTopology"), child(path, "deprecatedTopology"));
  const host = maybeText(endpoint, "hostname");
  if (host !== undefined) {
    append(out, invalidEach(child(path, "hostname"), host, dns1123LabelErrors(host)));
  }
  checkHints(out, endpoint, child(path, "hints"));
}

function checkSliceAddress(out: FieldError[], address: string, type: string, path: string): void {
  if (type === "FQDN") {
    checkDomainName(out, address, path);
    return;
  }
  if (type !== "IPv4" && type !== "IPv6") return;
  const isFine = type === "IPv6" ? checkCanonicalAddress : checkAddress;
  if (!isFine(out, address, path)) return;
  checkFamily(out, address, type, path);
  checkNotSpecial(out, address, path);
}

function checkTopology(
  out: FieldError[],
  labels: Readonly<Record<string, string>>,
  path: string,
): void {
  const size = Object.keys(labels).length;
  if (size > topologyLabelsMax) out.push(tooMany(path, size, topologyLabelsMax));
  append(out, validateLabels(labels, path));
  const host = "kubernetes.io/hostname";
  if (labels[host] === undefined) return;
  const detail = "may not be set; use the `nodeName` field instead";
  out.push(forbiddenField(`${path}[${host}]`, detail));
}

function checkHints(out: FieldError[], endpoint: Fields, path: string): void {
  const hints = part(endpoint, "hints");
  checkHintList(out, items(hints, "forZones"), zoneHintsMax, child(path, "forZones"));
  checkHintList(out, items(hints, "forNodes"), nodeHintsMax, child(path, "forNodes"));
}

function checkHintList(
  out: FieldError[],
  hints: readonly Fields[],
  max: number,
  path: string,
): void {
  if (hints.length > max) {
    out.push(tooMany(path, hints.length, max));
    return;
  }
  const seen = new Set<string>();
  hints.forEach((hint, at) => {
    const name = text(hint, "name");
    const here = child(index(path, at), "name");
    if (seen.has(name)) out.push(duplicate(here, name));
    seen.add(name);
    append(out, invalidEach(here, name, dnsSubdomainName(name, false)));
  });
}

function checkSlicePorts(out: FieldError[], ports: readonly Fields[]): void {
  if (ports.length > portsMax) {
    out.push(tooMany("ports", ports.length, portsMax));
    return;
  }
  const names = new Set<string>();
  ports.forEach((port, at) => {
    const path = index("ports", at);
    const name = text(port, "name");
    if (name !== "") {
      append(out, invalidEach(child(path, "name"), name, dns1123LabelErrors(name)));
    }
    if (names.has(name)) out.push(duplicate(child(path, "name"), name));
    names.add(name);
    checkIfGiven(out, port["protocol"], protocols, child(path, "protocol"));
    const app = maybeText(port, "appProtocol");
    if (app === undefined) return;
    append(out, invalidEach(child(path, "appProtocol"), app, qualifiedNameErrors(app)));
  });
}
