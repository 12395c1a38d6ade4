/**
 * Warnings about pods and their templates: values that are accepted but do not have the intended effect. Order and
 * texts as upstream's pkg/api/pod; where upstream walks a Go map in random order, the order here is sorted.
 */
import { ownEntry } from "#base/own.ts";
import { dns1123LabelErrors } from "../names.ts";
import { annotationWarnings, profileWarnings } from "./warnings-annotations.ts";
import { warnAddress } from "./warnings-addresses.ts";
import { hiddenVariables, portNameWarnings, portWarnings } from "./warnings-containers.ts";
import { claimSpecWarnings, fractionWarnings } from "./warnings-fractions.ts";
import { nodeLabelAdvice, warnNodeSelectorTerm } from "./warnings-labels.ts";
import { overlapWarnings } from "./warnings-paths.ts";
import type { Fields } from "./fields.ts";
import { has, items, maybe, number, part, sortKeys, text, textMap, texts } from "./fields.ts";
import { child, index, key, repeatedAt } from "./errors.ts";

const lists = ["initContainers", "containers", "ephemeralContainers"];

/** No warnings for updates, because kubelets and controllers make them. */
export function podWarnings(pod: Fields, old: Fields | undefined): readonly string[] {
  if (old !== undefined) return [];
  return [
    ...nameWarnings(pod, "used in the Pod's hostname"),
    ...templateSpecWarnings(pod, "", "pod"),
  ];
}

/** Warnings about a status written by a kubelet. */
export function podStatusWarnings(pod: Fields): readonly string[] {
  const out: string[] = [];
  for (const list of ["podIPs", "hostIPs"]) {
    items(part(pod, "status"), list).forEach((each, at) =>
      warnAddress(out, text(each, "ip"), child(index(child("status", list), at), "ip")),
    );
  }
  return out;
}

/** `use`: what the name is used for, where it should be a DNS label. */
export function nameWarnings(object: Fields, use: string): readonly string[] {
  const errors = dns1123LabelErrors(text(part(object, "metadata"), "name"));
  if (errors.length === 0) return [];
  return [
    `metadata.name: this is ${use}, which can result in surprising behavior; a DNS label is recommended: [${errors.join(" ")}]`,
  ];
}

/** `as`: for a pod, AppArmor annotations are handled by `appArmorWarnings`. */
export function templateSpecWarnings(
  template: Fields,
  path: string,
  as: "pod" | "template",
): readonly string[] {
  const spec = part(template, "spec");
  const at = child(path, "spec");
  const annotations = textMap(part(template, "metadata"), "annotations");
  const annotated = child(path, "metadata", "annotations");
  const containers = containersOf(spec, at);
  const out: string[] = [];
  warnPlacement(out, spec, at);
  out.push(...annotationWarnings(annotations, annotated));
  warnVolumes(out, spec, at);
  warnAliasesAndSecrets(out, spec, at);
  out.push(...fractionWarnings(part(spec, "overhead"), child(at, "overhead")));
  out.push(...profileWarnings({ annotations, path: annotated, spec, container: undefined, as }));
  for (const { container, path: here } of containers) {
    out.push(...profileWarnings({ annotations, path: annotated, spec, container, as }));
    const resources = child(here, "resources");
    out.push(...fractionWarnings(part(container, "resources"), resources, "limits", "requests"));
    out.push(...hiddenVariables(container, here));
  }
  out.push(...portWarnings(containers), ...portNameWarnings(containers));
  warnGrace(out, spec, at);
  warnAffinity(out, part(spec, "affinity"), child(at, "affinity"));
  warnAddresses(out, spec, at);
  return out;
}

interface Placed {
  readonly container: Fields;
  readonly path: string;
}

function containersOf(spec: Fields, path: string): readonly Placed[] {
  return lists.flatMap((list) =>
    items(spec, list).map((container, at) => ({ container, path: index(child(path, list), at) })),
  );
}

function warnPlacement(out: string[], spec: Fields, path: string): void {
  for (const label of sortKeys(textMap(spec, "nodeSelector"))) {
    const advice = nodeLabelAdvice(label);
    if (advice !== undefined) out.push(`${key(child(path, "nodeSelector"), label)}: ${advice}`);
  }
  const affinity = part(part(spec, "affinity"), "nodeAffinity");
  const at = child(path, "affinity", "nodeAffinity");
  const required = "requiredDuringSchedulingIgnoredDuringExecution";
  const terms = child(at, required, "nodeSelectorTerms");
  items(part(affinity, required), "nodeSelectorTerms").forEach((term, i) =>
    warnNodeSelectorTerm(out, term, index(terms, i), "names"),
  );
  const preferred = "preferredDuringSchedulingIgnoredDuringExecution";
  items(affinity, preferred).forEach((term, i) => {
    const here = child(index(child(at, preferred), i), "preference");
    warnNodeSelectorTerm(out, part(term, "preference"), here, "names and values");
  });
  items(spec, "topologySpreadConstraints").forEach((constraint, i) =>
    warnSpread(out, constraint, index(child(path, "topologySpreadConstraints"), i)),
  );
}

const matchesNothing = "a null labelSelector results in matching no pod";

function warnSpread(out: string[], constraint: Fields, path: string): void {
  const topologyKey = text(constraint, "topologyKey");
  const advice = nodeLabelAdvice(topologyKey);
  if (advice !== undefined) {
    out.push(`${child(path, "topologyKey")}: ${topologyKey} is ${advice}`);
  }
  if (!has(constraint, "labelSelector")) {
    out.push(`${child(path, "labelSelector")}: ${matchesNothing}`);
  }
}

/** Volume types that kubelets no longer support, in upstream's order. */
const goneVolumes: readonly (readonly [string, string])[] = [
  ["photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"],
  ["gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"],
  ["scaleIO", "deprecated in v1.16, non-functional in v1.22+"],
  ["flocker", "deprecated in v1.22, non-functional in v1.25+"],
  ["storageos", "deprecated in v1.22, non-functional in v1.25+"],
  ["quobyte", "deprecated in v1.22, non-functional in v1.25+"],
  ["glusterfs", "deprecated in v1.25, non-functional in v1.26+"],
  ["ephemeral", ""],
  ["cephfs", "deprecated in v1.28, non-functional in v1.31+"],
  ["rbd", "deprecated in v1.28, non-functional in v1.31+"],
];

function warnVolumes(out: string[], spec: Fields, path: string): void {
  const volumes = items(spec, "volumes");
  volumes.forEach((volume, i) => {
    for (const [source, why] of goneVolumes) {
      const held = maybe(volume, source);
      if (held === undefined) continue;
      const here = child(index(child(path, "volumes"), i), ownEntry(shownVolume, source) ?? source);
      const claim = child(here, "volumeClaimTemplate", "spec");
      if (why !== "") out.push(`${here}: ${why}`);
      else out.push(...claimSpecWarnings(part(part(held, "volumeClaimTemplate"), "spec"), claim));
    }
  });
  out.push(...overlapWarnings(volumes));
}

/** Names that differ between upstream's paths and its JSON. */
const shownVolume: Readonly<Record<string, string>> = { storageos: "storageOS" };

function warnAliasesAndSecrets(out: string[], spec: Fields, path: string): void {
  const aliases = child(path, "hostAliases");
  const ips = items(spec, "hostAliases").map((alias) => text(alias, "ip"));
  for (const at of repeatedAt(ips)) {
    out.push(`${child(index(aliases, at), "ip")}: duplicate ip ${JSON.stringify(ips[at])}`);
  }
  const secrets = child(path, "imagePullSecrets");
  const names = items(spec, "imagePullSecrets").map((secret) => text(secret, "name"));
  for (const at of repeatedAt(names)) {
    out.push(`${child(index(secrets, at), "name")}: duplicate name ${JSON.stringify(names[at])}`);
  }
  names.forEach((name, at) => {
    if (name === "") out.push(`${child(index(secrets, at), "name")}: invalid empty name ""`);
  });
}

function warnGrace(out: string[], spec: Fields, path: string): void {
  if (number(spec, "terminationGracePeriodSeconds") >= 0) return;
  const at = child(path, "terminationGracePeriodSeconds");
  out.push(`${at}: must be >= 0; negative values are invalid and will be treated as 1`);
}

function warnAffinity(out: string[], affinity: Fields, path: string): void {
  for (const side of ["podAffinity", "podAntiAffinity"]) {
    const required = "requiredDuringSchedulingIgnoredDuringExecution";
    items(part(affinity, side), required).forEach((term, i) => {
      if (has(term, "labelSelector")) return;
      const here = index(child(path, side, required), i);
      out.push(`${child(here, "labelSelector")}: ${matchesNothing}`);
    });
    const preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    items(part(affinity, side), preferred).forEach((term, i) => {
      if (has(part(term, "podAffinityTerm"), "labelSelector")) return;
      const here = index(child(path, side, preferred), i);
      out.push(`${child(here, "podAffinityTerm", "labelSelector")}: ${matchesNothing}`);
    });
  }
}

function warnAddresses(out: string[], spec: Fields, path: string): void {
  const servers = child(path, "dnsConfig", "nameservers");
  texts(part(spec, "dnsConfig"), "nameservers").forEach((server, at) =>
    warnAddress(out, server, index(servers, at)),
  );
  items(spec, "hostAliases").forEach((alias, at) =>
    warnAddress(out, text(alias, "ip"), child(index(child(path, "hostAliases"), at), "ip")),
  );
}
