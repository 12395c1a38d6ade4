/**
 * Texts clients see as Warning headers: what is accepted and will still not do what was meant.
 * Texts as upstream's api/pod GetWarningsForPodSpec. Templates warn when they changed only.
 */
import { ownEntry } from "#base/own.ts";
import { dns1123LabelErrors } from "../names.ts";
import type { Fields } from "./fields.ts";
import { count, has, items, part, sortKeys, text, textMap } from "./fields.ts";
import { child, index, key, repeatedAt } from "./errors.ts";
import { semanticEqual } from "./equal.ts";
import { isFractionalBytes } from "./resources.ts";

const lists = ["initContainers", "containers", "ephemeralContainers"];

export function podWarnings(pod: Fields, old: Fields | undefined): readonly string[] {
  const out: string[] = [];
  if (old === undefined) warnPodName(out, pod);
  warnTemplate(out, { template: pod, old, path: "" });
  return out;
}

function warnPodName(out: string[], pod: Fields): void {
  const name = text(part(pod, "metadata"), "name");
  const errors = dns1123LabelErrors(name);
  if (name === "" || errors.length === 0) return;
  out.push(
    `metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [${errors.join(" ")}]`,
  );
}

export function warnJobName(job: Fields, old: Fields | undefined): readonly string[] {
  if (old !== undefined) return [];
  const errors = dns1123LabelErrors(text(part(job, "metadata"), "name"));
  if (errors.length === 0) return [];
  return [
    `metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [${errors.join(" ")}]`,
  ];
}

/** Warnings of a kind that holds a pod template at `at`. */
export function templateWarnings(
  at: readonly string[],
): (object: Fields, old: Fields | undefined) => readonly string[] {
  return (object, old) => {
    const template = at.reduce(part, object);
    const before = old === undefined ? undefined : at.reduce(part, old);
    const out: string[] = [];
    if (before !== undefined && semanticEqual(template, before)) return out;
    warnTemplate(out, { template, old: before, path: at.join(".") });
    return out;
  };
}

interface Given {
  readonly template: Fields;
  readonly old: Fields | undefined;
  readonly path: string;
}

function warnTemplate(out: string[], given: Given): void {
  const spec = part(given.template, "spec");
  if (given.old !== undefined && semanticEqual(spec, part(given.old, "spec"))) return;
  const path = child(given.path, "spec");
  warnLabels(out, spec, path);
  const ips = items(spec, "hostAliases").map((alias) => text(alias, "ip"));
  for (const at of repeatedAt(ips)) {
    const here = child(index(child(path, "hostAliases"), at), "ip");
    out.push(`${here}: duplicate ip "${ips[at] ?? ""}"`);
  }
  warnPullSecrets(out, spec, path);
  for (const list of lists) {
    items(spec, list).forEach((container, at) => {
      const here = index(child(path, list), at);
      warnRepeatedEnv(out, container, here);
      warnFractions(out, container, here);
    });
  }
  warnPorts(out, spec, path);
  warnGrace(out, spec, path);
}

const deprecatedLabels: Readonly<Record<string, string>> = {
  "beta.kubernetes.io/arch": 'use "kubernetes.io/arch" instead',
  "beta.kubernetes.io/os": 'use "kubernetes.io/os" instead',
  "failure-domain.beta.kubernetes.io/region": 'use "topology.kubernetes.io/region" instead',
  "failure-domain.beta.kubernetes.io/zone": 'use "topology.kubernetes.io/zone" instead',
  "beta.kubernetes.io/instance-type": 'use "node.kubernetes.io/instance-type" instead',
};

function warnLabels(out: string[], spec: Fields, path: string): void {
  for (const label of sortKeys(textMap(spec, "nodeSelector"))) {
    const advice = ownEntry(deprecatedLabels, label);
    if (advice === undefined) continue;
    const since = `deprecated since v1.${label === "beta.kubernetes.io/arch" || label === "beta.kubernetes.io/os" ? 14 : 17}`;
    out.push(`${key(child(path, "nodeSelector"), label)}: ${since}; ${advice}`);
  }
}

function warnPullSecrets(out: string[], spec: Fields, path: string): void {
  items(spec, "imagePullSecrets").forEach((secret, at) => {
    if (text(secret, "name") !== "") return;
    const here = index(child(path, "imagePullSecrets"), at);
    out.push(`${here}: invalid empty name ""`);
  });
}

function warnRepeatedEnv(out: string[], container: Fields, path: string): void {
  const seen = new Set<string>();
  items(container, "env").forEach((variable, at) => {
    const name = text(variable, "name");
    const value = text(variable, "value");
    // A second value that builds on the first is meant.
    const reference = `$(${name})`;
    const builds = !has(variable, "valueFrom") && value !== reference && value.includes(reference);
    if (seen.has(name) && !builds) {
      const here = index(child(path, "env"), at);
      out.push(
        `${here}: hides previous definition of "${name}", which may be dropped when using apply`,
      );
    }
    seen.add(name);
  });
}

function warnFractions(out: string[], container: Fields, path: string): void {
  const resources = part(container, "resources");
  for (const list of ["limits", "requests"]) {
    const amounts = part(resources, list);
    for (const name of sortKeys(amounts)) {
      if (!isFractionalBytes(name, amounts[name])) continue;
      const here = key(child(path, "resources", list), name);
      out.push(
        `${here}: fractional byte value "${text(amounts, name)}" is invalid, must be an integer`,
      );
    }
  }
}

function warnPorts(out: string[], spec: Fields, path: string): void {
  const owners = new Map<string, string>();
  for (const list of ["containers", "initContainers"]) {
    items(spec, list).forEach((container, at) => {
      if (list === "initContainers" && text(container, "restartPolicy") !== "Always") return;
      items(container, "ports").forEach((port, i) => {
        const here = index(child(index(child(path, list), at), "ports"), i);
        const name = `${String(port["containerPort"])}/${text(port, "protocol")}`;
        const previous = owners.get(name);
        if (previous !== undefined && !has(port, "hostPort")) {
          out.push(`${here}: duplicate port definition with ${previous}`);
        }
        owners.set(name, here);
      });
    });
  }
}

function warnGrace(out: string[], spec: Fields, path: string): void {
  const grace = spec["terminationGracePeriodSeconds"];
  if (typeof grace === "number" && grace < 0) {
    out.push(
      `${child(path, "terminationGracePeriodSeconds")}: must be >= 0; negative values are invalid and will be treated as 1`,
    );
  }
}

const ingressAnnotation = "kubernetes.io/ingress.class";

export function ingressWarnings(ingress: Fields, old: Fields | undefined): readonly string[] {
  if (old !== undefined) return [];
  const given = textMap(part(ingress, "metadata"), "annotations")[ingressAnnotation];
  if (given === undefined) return [];
  return [
    `annotation "${ingressAnnotation}" is deprecated, please use 'spec.ingressClassName' instead`,
  ];
}

export function claimWarnings(claim: Fields): readonly string[] {
  const out: string[] = [];
  const beta = "volume.beta.kubernetes.io/storage-class";
  if (textMap(part(claim, "metadata"), "annotations")[beta] !== undefined) {
    out.push(
      `metadata.annotations[${beta}]: deprecated since v1.8; use "storageClassName" attribute instead`,
    );
  }
  const amounts = part(part(part(claim, "spec"), "resources"), "requests");
  if (isFractionalBytes("storage", amounts["storage"])) {
    out.push(
      `spec.resources.requests[storage]: fractional byte value "${text(amounts, "storage")}" is invalid, must be an integer`,
    );
  }
  return out;
}

export function serviceWarnings(service: Fields, old: Fields | undefined): readonly string[] {
  const out: string[] = [];
  const spec = part(service, "spec");
  if (old !== undefined && semanticEqual(spec, part(old, "spec"))) return out;
  const isName = text(spec, "type") === "ExternalName";
  const isHeadless = text(spec, "clusterIP") === "None";
  const hasExternalIPs = count(spec, "externalIPs") > 0;
  if (text(spec, "loadBalancerIP") !== "") out.push("spec.loadBalancerIP is deprecated");
  if (hasExternalIPs && isHeadless) {
    out.push("spec.externalIPs is ignored for headless services");
  } else if (hasExternalIPs && !isName) {
    out.push("spec.externalIPs is deprecated and may no longer be implemented in some clusters");
  }
  if (isName && hasExternalIPs) {
    out.push('spec.externalIPs is ignored when spec.type is "ExternalName"');
  }
  if (!isName && text(spec, "externalName") !== "") {
    out.push('spec.externalName is ignored when spec.type is not "ExternalName"');
  }
  return out;
}
