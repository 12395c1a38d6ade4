/** For tests: validation of a manifest, after defaulting and the strategy's preparation. */
import { parse } from "yaml";
import type { AnyObject } from "../../object.ts";
import { parseApiVersion } from "../../object.ts";
import type { FieldError } from "../../status.ts";
import { applyDefaults } from "../../defaults/apply.ts";
import { strategyFor } from "../../strategies/strategies.ts";

export function read(yaml: string): AnyObject {
  const object = parse(yaml) as AnyObject;
  const { group, version } = versionOf(object);
  return applyDefaults(group, version, object.kind ?? "", object);
}

function versionOf(object: AnyObject): { readonly group: string; readonly version: string } {
  const version = parseApiVersion(object.apiVersion ?? "");
  if (version === undefined) throw new Error("manifest without apiVersion");
  return version;
}

/** Plurals that are not the kind plus an s. */
const plurals: Readonly<Record<string, string>> = {
  CSIStorageCapacity: "csistoragecapacities",
  Endpoints: "endpoints",
  Ingress: "ingresses",
  IngressClass: "ingressclasses",
  IPAddress: "ipaddresses",
  NetworkPolicy: "networkpolicies",
  PriorityClass: "priorityclasses",
  RuntimeClass: "runtimeclasses",
  StorageClass: "storageclasses",
  ValidatingAdmissionPolicy: "validatingadmissionpolicies",
  MutatingAdmissionPolicy: "mutatingadmissionpolicies",
};

function strategyOf(object: AnyObject) {
  const kind = object.kind ?? "";
  return strategyFor(versionOf(object).group, plurals[kind] ?? `${kind.toLowerCase()}s`);
}

function print(errors: readonly FieldError[]): string[] {
  return errors.map((error) => `${error.field}: ${error.message}`);
}

export function created(yaml: string): AnyObject {
  const object = read(yaml);
  return strategyOf(object).prepareForCreate(object);
}

/** Findings of a create. */
export function onCreate(yaml: string): string[] {
  const object = read(yaml);
  const strategy = strategyOf(object);
  return print(strategy.validate(strategy.prepareForCreate(object)));
}

/** Findings of replacing the created `old` by `next`, or of writing one of its subresources. */
export function onUpdate(old: string, next: string, subresource = ""): string[] {
  const before = created(old);
  const strategy = strategyOf(before);
  const update = subresource === "" ? strategy : strategy.subresources[subresource];
  if (update === undefined) throw new Error(`no subresource ${subresource}`);
  return print(update.validateUpdate(update.prepareForUpdate(read(next), before), before));
}

export function warnings(yaml: string): readonly string[] {
  const sent = read(yaml);
  const strategy = strategyOf(sent);
  const object = strategy.prepareForCreate(sent);
  return [...(strategy.sentWarnings?.(sent) ?? []), ...strategy.warnings(object, undefined)];
}

/** Warnings for replacing the created `old` by `next`, or for writing one of its subresources. */
export function warningsOfUpdate(old: string, next: string, subresource = ""): readonly string[] {
  const before = created(old);
  const strategy = strategyOf(before);
  const update = subresource === "" ? strategy : strategy.subresources[subresource];
  if (update === undefined) throw new Error(`no subresource ${subresource}`);
  return update.warnings?.(update.prepareForUpdate(read(next), before), before) ?? [];
}
