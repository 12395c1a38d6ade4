/**
 * Node groups, declared by the operator in a file (`--node-groups`):
 *
 *   quotas: {gpus: 8}                    instances of all groups that name it
 *   groups:
 *   - name: small
 *     min: 0
 *     max: 100
 *     initial: 2                         min when absent
 *     shape: {cpu: 4, memory: 16Gi, pods: 110, nvidia.com/gpu: 1}
 *     labels: {pool: small}
 *     taints: [{key: gpu, value: "true", effect: NoSchedule}]
 *     zones: [a, b]
 *     price: 0.2                         of a node and an hour
 *     startSeconds: [20, 60]             or one number
 *     quota: gpus
 *     rampPercentPerMinute: 20
 *     failures: [{kind: never, share: 0.1, fromSeconds: 0, untilSeconds: 600}]
 *
 * Holds  all mistakes are reported at once, each with its line and field; no field is ignored.
 */
import type { Taint } from "#api/gen/types.ts";
import { tryParseQuantity } from "#api/values/quantity.ts";
import { given } from "#base/given.ts";
import {
  type FailureProgram,
  failureKinds,
  type NodeGroupsFile,
  type NodeGroupSpec,
} from "#hollow/node-group-spec.ts";
import { type FieldPath, type Fields, YamlFields } from "#wire/yaml-fields.ts";
import { parseYaml } from "#wire/yaml.ts";

const yamlLimits = { bytesMax: 2 ** 20, depthMax: 8, aliasMax: 1_000 };
const groupsMax = 1_000;
const nodesMax = 50_000;
const secondsMax = 86_400;
const labelKey =
  /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const labelValue = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
const groupKeys = [
  "name",
  "min",
  "max",
  "initial",
  "shape",
  "labels",
  "taints",
  "zones",
  "price",
  "startSeconds",
  "quota",
  "rampPercentPerMinute",
  "failures",
];

/** Parses the file. If there are problems, the groups must not be used. */
export function parseNodeGroups(text: string): {
  readonly file?: NodeGroupsFile;
  readonly problems: readonly string[];
} {
  const parsed = parseYaml(text, yamlLimits);
  if (parsed.kind !== "ok") return { problems: [parsed.message] };
  if (parsed.repeatedKeys !== undefined) return { problems: parsed.repeatedKeys };
  const yaml = new YamlFields(text);
  const map = yaml.map(parsed.value, [], ["groups", "quotas"]);
  const quotas = readQuotas(yaml, map["quotas"] ?? {});
  const { groups = [] } = map;
  if (!Array.isArray(groups) || groups.length === 0 || groups.length > groupsMax) {
    yaml.problem(["groups"], `must be a list of 1 to ${groupsMax} groups`);
    return { problems: yaml.problems };
  }
  const specs = groups.map((one, at) => readGroup(yaml, one, ["groups", at], quotas));
  const names = new Set<string>();
  specs.forEach(({ name }, at) => {
    if (name !== "" && names.has(name)) {
      yaml.problem(["groups", at, "name"], `${JSON.stringify(name)} stands twice`);
    }
    names.add(name);
  });
  return { file: { groups: specs, quotas }, problems: yaml.problems };
}

function readQuotas(yaml: YamlFields, value: unknown): Record<string, number> {
  const map = yaml.map(value, ["quotas"]);
  const entries = Object.keys(map).map((name) => {
    return [name, count(yaml, map, ["quotas"], { name, standard: 0, most: nodesMax })] as const;
  });
  return Object.fromEntries(entries);
}

function readGroup(
  yaml: YamlFields,
  value: unknown,
  path: FieldPath,
  quotas: Readonly<Record<string, number>>,
): NodeGroupSpec {
  const map = yaml.map(value, path, groupKeys);
  const min = count(yaml, map, path, { name: "min", standard: 0, most: nodesMax });
  const max = count(yaml, map, path, { name: "max", standard: 10, most: nodesMax });
  const initial = count(yaml, map, path, { name: "initial", standard: min, most: nodesMax });
  if (min > max) yaml.problem([...path, "min"], `must be at most max, ${max}`);
  if (initial < min || initial > max) {
    yaml.problem([...path, "initial"], `must be from min, ${min}, to max, ${max}`);
  }
  const quota = yaml.text(map, path, "quota");
  if (quota !== "" && !Object.hasOwn(quotas, quota)) {
    yaml.problem([...path, "quota"], `${JSON.stringify(quota)} is none of quotas`);
  }
  return {
    name: yaml.name(map, path),
    min,
    max,
    initial,
    shape: readShape(yaml, map["shape"] ?? {}, [...path, "shape"]),
    labels: readLabels(yaml, map["labels"] ?? {}, [...path, "labels"]),
    taints: listOf(yaml, map, path, "taints").map((one, at) =>
      readTaint(yaml, one, [...path, "taints", at]),
    ),
    zones: yaml.texts(map, path, "zones"),
    price: numberOf(yaml, map, path, { name: "price", most: 1_000_000 }),
    start: readStart(yaml, map["startSeconds"] ?? 0, [...path, "startSeconds"]),
    failures: listOf(yaml, map, path, "failures").map((one, at) =>
      readFailure(yaml, one, [...path, "failures", at]),
    ),
    quota: quota === "" ? undefined : quota,
    rampPercentPerMinute: numberOf(yaml, map, path, {
      name: "rampPercentPerMinute",
      most: 1_000_000,
    }),
  };
}

function readShape(yaml: YamlFields, value: unknown, path: FieldPath): Record<string, string> {
  const map = yaml.map(value, path);
  const entries = Object.entries(map).map(([name, one]) => {
    const text = typeof one === "number" ? String(one) : one;
    const quantity = typeof text === "string" ? tryParseQuantity(text) : undefined;
    if (!labelKey.test(name)) yaml.problem([...path, name], "is no name of a resource");
    if (quantity === undefined || quantity.nanos < 0n) {
      yaml.problem([...path, name], "must be a quantity, as 4 or 16Gi");
    } else if (name === "pods" && !/^[1-9][0-9]{0,3}$/.test(String(text))) {
      yaml.problem([...path, name], "must be a whole number from 1 to 9999");
    }
    return [name, String(text)] as const;
  });
  return Object.fromEntries(entries);
}

function readLabels(yaml: YamlFields, value: unknown, path: FieldPath): Record<string, string> {
  const map = yaml.map(value, path);
  const entries = Object.entries(map).map(([name, one]) => {
    if (!labelKey.test(name)) yaml.problem([...path, name], "is no name of a label");
    if (typeof one !== "string" || !labelValue.test(one)) {
      yaml.problem([...path, name], "must be the value of a label, a text of 63 letters at most");
    }
    return [name, String(one)] as const;
  });
  return Object.fromEntries(entries);
}

function readTaint(yaml: YamlFields, one: unknown, path: FieldPath): Taint {
  const map = yaml.map(one, path, ["key", "value", "effect"]);
  const key = yaml.requiredText(map, path, "key");
  const value = yaml.text(map, path, "value");
  const effect = yaml.requiredText(map, path, "effect");
  if (key !== "" && !labelKey.test(key)) yaml.problem([...path, "key"], "is no name of a taint");
  if (!effects.includes(effect))
    yaml.problem([...path, "effect"], `must be one of ${effects.join(", ")}`);
  return { key, effect, ...given({ value: value === "" ? undefined : value }) };
}

function readStart(yaml: YamlFields, value: unknown, path: FieldPath): NodeGroupSpec["start"] {
  const [least, most = least]: readonly unknown[] = Array.isArray(value) ? value : [value];
  const isSeconds = (one: unknown): one is number =>
    typeof one === "number" && one >= 0 && one <= secondsMax;
  if (isSeconds(least) && isSeconds(most) && least <= most) {
    return { leastMs: Math.round(least * 1_000), mostMs: Math.round(most * 1_000) };
  }
  yaml.problem(path, `must be a number from 0 to ${secondsMax}, or two of them, the smaller first`);
  return { leastMs: 0, mostMs: 0 };
}

function readFailure(yaml: YamlFields, one: unknown, path: FieldPath): FailureProgram {
  const map = yaml.map(one, path, ["kind", "share", "fromSeconds", "untilSeconds"]);
  const text = yaml.requiredText(map, path, "kind");
  const kind = failureKinds.find((known) => known === text);
  if (kind === undefined) {
    yaml.problem([...path, "kind"], `must be one of ${failureKinds.join(", ")}`);
  }
  const at = (name: string, most: number) => numberOf(yaml, map, path, { name, most });
  const untilSeconds = at("untilSeconds", secondsMax);
  return {
    kind: kind ?? "never",
    share: at("share", 1) ?? 1,
    fromMs: (at("fromSeconds", secondsMax) ?? 0) * 1_000,
    untilMs: untilSeconds === undefined ? Number.POSITIVE_INFINITY : untilSeconds * 1_000,
  };
}

function listOf(yaml: YamlFields, map: Fields, path: FieldPath, name: string): readonly unknown[] {
  const { [name]: value = [] } = map;
  if (Array.isArray(value) && value.length <= 64) return value;
  yaml.problem([...path, name], "must be a list of 64 at most");
  return [];
}

interface Asked {
  readonly name: string;
  readonly most: number;
}

function count(
  yaml: YamlFields,
  map: Fields,
  path: FieldPath,
  { name, standard, most }: Asked & { readonly standard: number },
): number {
  const { [name]: value = standard } = map;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0 && value <= most) {
    return value;
  }
  yaml.problem([...path, name], `must be a whole number from 0 to ${most}`);
  return standard;
}

function numberOf(
  yaml: YamlFields,
  map: Fields,
  path: FieldPath,
  { name, most }: Asked,
): number | undefined {
  const { [name]: value } = map;
  if (value === undefined) return undefined;
  if (typeof value === "number" && value >= 0 && value <= most) return value;
  yaml.problem([...path, name], `must be a number from 0 to ${most}`);
  return undefined;
}
