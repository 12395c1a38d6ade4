/** Nodes. Texts as upstream's core/validation. */
import type { FieldError } from "../status.ts";
import { labelValueErrors } from "../selectors/label-syntax.ts";
import type { Fields } from "./fields.ts";
import { count, items, part, text, texts, without } from "./fields.ts";
import { child, duplicate, forbiddenField, index, invalidValue, repeatedAt } from "./errors.ts";
import { checkOneOf } from "./choices.ts";
import { semanticEqual, semanticKey } from "./equal.ts";
import { goStruct } from "./go-struct.ts";
import { checkRange, isDualStack } from "./ip.ts";
import { checkResourceList, checkResourceName } from "./resources.ts";
import { checkLabelName, taintEffects } from "./scheduling.ts";

export function validateNode(node: Fields): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(node, "spec");
  // Upstream's path of the taints begins in the metadata, where they were annotations once.
  checkTaints(out, items(spec, "taints"), "metadata.taints");
  checkStatusLists(out, node);
  const ranges = texts(spec, "podCIDRs");
  ranges.forEach((range, at) => checkRange(out, range, index("spec.podCIDRs", at)));
  if (ranges.length > 1 && (!isDualStack(ranges) || ranges.length > 2)) {
    const detail = "may specify no more than one CIDR for each IP family";
    out.push(invalidValue("spec.podCIDRs", ranges, detail));
  }
  return out;
}

function checkTaints(out: FieldError[], taints: readonly Fields[], path: string): void {
  const seen = new Set<string>();
  taints.forEach((taint, at) => {
    const here = index(path, at);
    const name = text(taint, "key");
    checkLabelName(out, name, child(here, "key"));
    const errors = labelValueErrors(text(taint, "value"));
    if (errors.length > 0) {
      out.push(invalidValue(child(here, "value"), text(taint, "value"), errors.join(";")));
    }
    const effect = text(taint, "effect");
    checkOneOf(out, effect, taintEffects, child(here, "effect"));
    const both = `${name}:${effect}`;
    if (seen.has(both)) {
      const shown = goStruct(taint, { key: "", value: "", effect: "", timeAdded: null });
      out.push(duplicate(here, shown, "taints must be unique by key and effect pair"));
    }
    seen.add(both);
  });
}

function checkStatusLists(out: FieldError[], node: Fields): void {
  const status = part(node, "status");
  for (const field of ["capacity", "allocatable"]) {
    checkResourceList(out, part(status, field), checkResourceName, child("status", field));
  }
}

/** Values set by the kubelet and the cloud provider are immutable; taints and `unschedulable` may change. */
export function validateNodeUpdate(next: Fields, old: Fields): FieldError[] {
  const out = validateNode(next);
  checkAddresses(out, next);
  const spec = part(next, "spec");
  const before = part(old, "spec");
  if (count(before, "podCIDRs") > 0 && !semanticEqual(spec["podCIDRs"], before["podCIDRs"])) {
    const detail = 'node updates may not change podCIDR except from "" to valid';
    out.push(forbiddenField("spec.podCIDRs", detail));
  }
  const provider = text(before, "providerID");
  if (provider !== "" && text(spec, "providerID") !== provider) {
    const detail = 'node updates may not change providerID except from "" to valid';
    out.push(forbiddenField("spec.providerID", detail));
  }
  const free = ["taints", "unschedulable", "configSource", "podCIDR", "podCIDRs", "providerID"];
  if (!semanticEqual(without(spec, free), without(before, free))) {
    const detail =
      "node updates may only change labels, taints, or capacity (or configSource, if the DynamicKubeletConfig feature gate is enabled)";
    out.push(forbiddenField("[]", detail));
  }
  return out;
}

function checkAddresses(out: FieldError[], node: Fields): void {
  const addresses = items(part(node, "status"), "addresses");
  for (const at of repeatedAt(addresses.map(semanticKey))) {
    out.push(duplicate(index("status.addresses", at), addresses[at]));
  }
}

export function validateNodeStatus(next: Fields): FieldError[] {
  const out: FieldError[] = [];
  checkStatusLists(out, next);
  checkAddresses(out, next);
  return out;
}
