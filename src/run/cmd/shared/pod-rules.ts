/**
 * kwok's ResourceUsage, ClusterResourceUsage, Logs and ClusterLogs: what hollow pods use, and which files are their logs.
 *
 * Holds  a rule for one pod goes before those for many. Every mistake is noted.
 */
import { given } from "#base/given.ts";
import type { JsonObject } from "#api/object.ts";
import { tryParseQuantity } from "#api/values/quantity.ts";
import type { UsageRule } from "#hollow/usage-rules.ts";
import { StageFields } from "#stages/stage-fields.ts";

export const podRuleKinds = ["ResourceUsage", "ClusterResourceUsage", "Logs", "ClusterLogs"];

export interface LogRule extends Pick<UsageRule, "namespaces" | "names" | "containers"> {
  /** Path of the log on this machine. "": none. */
  readonly file: string;
  readonly previousFile: string;
}

export interface PodRules {
  readonly usage: readonly UsageRule[];
  readonly logs: readonly LogRule[];
}

const listMax = 1_000;

export function readPodRules(objects: readonly JsonObject[]): PodRules & {
  readonly problems: readonly string[];
} {
  const fields = new StageFields();
  // Rules of a single pod precede those of the cluster.
  const ordered = objects.toSorted((a, b) => Number(isCluster(a)) - Number(isCluster(b)));
  const usage = ordered
    .filter(({ kind }) => kind === "ResourceUsage" || kind === "ClusterResourceUsage")
    .flatMap((object) => readUsages(fields, object));
  const logs = ordered
    .filter(({ kind }) => kind === "Logs" || kind === "ClusterLogs")
    .flatMap((object) => readLogs(fields, object));
  return { usage, logs, problems: fields.problems };
}

function isCluster({ kind }: JsonObject): boolean {
  return typeof kind === "string" && kind.startsWith("Cluster");
}

function podsOf(fields: StageFields, object: JsonObject) {
  if (!isCluster(object)) {
    const metadata = fields.map(object, "metadata");
    const [namespace, name] = [fields.text(metadata, "namespace"), fields.text(metadata, "name")];
    if (name === "") fields.problem("metadata.name", "is required: the pod's");
    return { namespaces: [namespace || "default"], names: [name] };
  }
  const selector = fields.map(fields.map(object, "spec"), "selector");
  return {
    namespaces: fields.strings(selector, "matchNamespaces", listMax),
    names: fields.strings(selector, "matchNames", listMax),
  };
}

function readUsages(fields: StageFields, object: JsonObject): readonly UsageRule[] {
  const pods = podsOf(fields, object);
  return fields.list(fields.map(object, "spec"), "usages", listMax).map((one) => {
    const usage = fields.map(one, "usage");
    const [cpu, memory] = [amount(fields, usage, "cpu"), amount(fields, usage, "memory")];
    const containers = fields.strings(one, "containers", listMax);
    return { ...pods, containers, ...given({ cpu, memory }) };
  });
}

function amount(fields: StageFields, usage: JsonObject, name: string): bigint | undefined {
  if (usage[name] === undefined) return undefined;
  const map = fields.map(usage, name);
  if (map["expression"] !== undefined) {
    const hint = "give a value, or the pods an annotation kwok.x-k8s.io/usage-";
    fields.problem(`usage.${name}.expression`, `is not read here: ${hint}${name}`);
    return undefined;
  }
  const { value } = map;
  const nanos = tryParseQuantity(
    typeof value === "number" ? String(value) : fields.text(map, "value"),
  );
  if (nanos !== undefined && nanos.nanos >= 0n) return nanos.nanos;
  fields.problem(`usage.${name}.value`, "must be a quantity from 0 on");
  return undefined;
}

function readLogs(fields: StageFields, object: JsonObject): readonly LogRule[] {
  const pods = podsOf(fields, object);
  return fields.list(fields.map(object, "spec"), "logs", listMax).map((one) => ({
    ...pods,
    containers: fields.strings(one, "containers", listMax),
    file: fields.text(one, "logsFile"),
    previousFile: fields.text(one, "previousLogsFile"),
  }));
}
