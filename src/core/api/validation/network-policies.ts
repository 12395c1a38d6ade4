/** Network policies, service CIDRs, IP addresses. Texts as upstream's networking/validation. */
import type { FieldError } from "../status.ts";
import { pathSegmentName } from "../names.ts";
import { validateLabelSelector } from "../meta.ts";
import type { Fields } from "./fields.ts";
import { has, items, maybe, maybeNumber, maybeText, part, text, texts } from "./fields.ts";
import {
  child,
  forbiddenField,
  index,
  invalidEach,
  invalidValue,
  notSupported,
  required,
  append,
} from "./errors.ts";
import { checkIfGiven } from "./choices.ts";
import { semanticEqual } from "./equal.ts";
import { goStruct } from "./go-struct.ts";
import { immutableText } from "./immutable.ts";
import {
  checkCanonicalRange,
  checkRange,
  isDualStack,
  parseAddress,
  parseRange,
  rangeContains,
} from "./ip.ts";
import { portNameErrors, portNumberErrors } from "./text.ts";

const protocols = ["TCP", "UDP", "SCTP"];
const policyTypes = ["Ingress", "Egress"];

export function validateNetworkPolicy(policy: Fields): FieldError[] {
  return checkPolicy(policy, new Set());
}

/** Ranges that were accepted before are kept. */
export function validateNetworkPolicyUpdate(next: Fields, old: Fields): FieldError[] {
  return checkPolicy(next, new Set(rangesOf(part(old, "spec"))));
}

function rangesOf(spec: Fields): readonly string[] {
  const peers = [
    ...items(spec, "ingress").flatMap((rule) => items(rule, "from")),
    ...items(spec, "egress").flatMap((rule) => items(rule, "to")),
  ];
  const blocks = peers.map((peer) => part(peer, "ipBlock"));
  return blocks.flatMap((block) => [text(block, "cidr"), ...texts(block, "except")]);
}

function checkPolicy(policy: Fields, kept: ReadonlySet<string>): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(policy, "spec");
  append(out, validateLabelSelector(maybe(spec, "podSelector"), "spec.podSelector"));
  checkRules(out, items(spec, "ingress"), "from", kept);
  checkRules(out, items(spec, "egress"), "to", kept);
  const types = texts(spec, "policyTypes");
  if (types.length > policyTypes.length) {
    const detail = "may not specify more than two policyTypes";
    out.push(invalidValue("spec.policyTypes", types, detail));
    return out;
  }
  types.forEach((type, at) => {
    if (policyTypes.includes(type)) return;
    out.push(notSupported(index("spec.policyTypes", at), type, policyTypes));
  });
  return out;
}

function checkRules(
  out: FieldError[],
  rules: readonly Fields[],
  peers: "from" | "to",
  kept: ReadonlySet<string>,
): void {
  const path = peers === "from" ? "spec.ingress" : "spec.egress";
  rules.forEach((rule, at) => {
    const here = index(path, at);
    items(rule, "ports").forEach((port, i) => {
      checkPolicyPort(out, port, index(child(here, "ports"), i));
    });
    items(rule, peers).forEach((peer, i) => {
      checkPeer(out, peer, kept, index(child(here, peers), i));
    });
  });
}

function checkPolicyPort(out: FieldError[], port: Fields, path: string): void {
  checkIfGiven(out, port["protocol"], protocols, child(path, "protocol"));
  const value = port["port"];
  const end = maybeNumber(port, "endPort");
  const at = child(path, "endPort");
  if (typeof value === "number") {
    append(out, invalidEach(child(path, "port"), value, portNumberErrors(value)));
    if (end === undefined) return;
    if (end < value) out.push(invalidValue(at, end, "must be greater than or equal to `port`"));
    append(out, invalidEach(at, end, portNumberErrors(end)));
  } else if (typeof value === "string") {
    if (end !== undefined) {
      out.push(invalidValue(at, end, "may not be specified when `port` is non-numeric"));
    }
    append(out, invalidEach(child(path, "port"), value, portNameErrors(value)));
  } else if (end !== undefined) {
    out.push(invalidValue(at, end, "may not be specified when `port` is not specified"));
  }
}

function checkPeer(out: FieldError[], peer: Fields, kept: ReadonlySet<string>, path: string): void {
  let given = 0;
  for (const field of ["podSelector", "namespaceSelector"]) {
    if (!has(peer, field)) continue;
    given += 1;
    append(out, validateLabelSelector(maybe(peer, field), child(path, field)));
  }
  const block = maybe(peer, "ipBlock");
  if (block !== undefined) checkBlock(out, block, kept, child(path, "ipBlock"));
  if (given === 0 && block === undefined) out.push(required(path, "must specify a peer"));
  else if (given > 0 && block !== undefined) {
    out.push(forbiddenField(path, "may not specify both ipBlock and another peer"));
  }
}

function checkBlock(
  out: FieldError[],
  block: Fields,
  kept: ReadonlySet<string>,
  path: string,
): void {
  const cidr = text(block, "cidr");
  const at = child(path, "cidr");
  if (cidr === "") {
    out.push(required(at));
    return;
  }
  checkRange(out, cidr, at, kept);
  const whole = parseRange(cidr);
  if (whole === undefined) return;
  texts(block, "except").forEach((value, i) => {
    const here = index(child(path, "except"), i);
    checkRange(out, value, here, kept);
    const hole = parseRange(value);
    if (hole === undefined) return;
    if (rangeContains(whole, hole.address) && whole.prefixLength < hole.prefixLength) return;
    out.push(invalidValue(here, value, "must be a strict subset of `cidr`"));
  });
}

export function validateServiceCidr(cidr: Fields): FieldError[] {
  const out: FieldError[] = [];
  const ranges = texts(part(cidr, "spec"), "cidrs");
  const path = "spec.cidrs";
  if (ranges.length === 0) {
    out.push(required(path, "at least one CIDR required"));
    return out;
  }
  if (ranges.length > 2) {
    out.push(invalidValue(path, { CIDRs: ranges }, "may only hold up to 2 values"));
    return out;
  }
  ranges.forEach((value, at) => checkCanonicalRange(out, value, index(path, at)));
  if (ranges.length === 2 && out.length === 0 && !isDualStack(ranges)) {
    const detail =
      "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
    out.push(invalidValue(path, ranges, detail));
  }
  return out;
}

/** The ranges are immutable; a second family may be added. */
export function validateServiceCidrUpdate(next: Fields, old: Fields): FieldError[] {
  const before = texts(part(old, "spec"), "cidrs");
  const now = texts(part(next, "spec"), "cidrs");
  const grows = before.length === 1 && now.length === 2;
  if (now.length !== before.length && !grows) {
    return [invalidValue("spec.cidrs", now, immutableText)];
  }
  const changed = before.flatMap((range, at) => (range === now[at] ? [] : [at]));
  const out = changed.map((at) => invalidValue(index("spec.cidrs", at), now[at], immutableText));
  return grows ? [...out, ...validateServiceCidr(next)] : out;
}

export function validateIpAddress(address: Fields): FieldError[] {
  const out: FieldError[] = [];
  const name = text(part(address, "metadata"), "name");
  if (parseAddress(name) === undefined) {
    out.push(invalidValue("metadata.name", name, "must be a valid IP address in canonical form"));
  }
  const parent = maybe(part(address, "spec"), "parentRef");
  const path = "spec.parentRef";
  if (parent === undefined) {
    out.push(required(path));
    return out;
  }
  for (const field of ["resource", "name"]) {
    const value = maybeText(parent, field) ?? "";
    if (value === "") out.push(required(child(path, field)));
    else append(out, invalidEach(child(path, field), value, pathSegmentName(value, false)));
  }
  return out;
}

export function validateIpAddressUpdate(next: Fields, old: Fields): FieldError[] {
  const out = validateIpAddress(next);
  const parent = part(part(next, "spec"), "parentRef");
  if (semanticEqual(parent, part(part(old, "spec"), "parentRef"))) return out;
  const zeros = { group: "", resource: "", namespace: "", name: "" };
  out.push(invalidValue("spec.parentRef", goStruct(parent, zeros), immutableText));
  return out;
}
