/**
 * What goes wrong with hollow nodes, by a file (`--failures`):
 *
 *   failures:
 *   - {failure: partition, zone: zone-1, at: 1m, for: 5m}
 *   - {failure: "flap:20s", nodes: 0-9, at: 30s}
 *   - {failure: disk-pressure, percent: 2, at: 10s, for: 1m, every: 10m}
 *   - {failure: "clock-skew:-90s", nodes: 7}
 *
 * Holds  all mistakes are reported at once, each with its line and field; no field is ignored.
 */
import { parseGoDuration } from "#api/go/go-duration.ts";
import { given } from "#base/given.ts";
import { failureForms, parseFailure } from "#hollow/failure.ts";
import type { NodeChoice, ScheduledFailure } from "#hollow/failure-schedule.ts";
import { type FieldPath, type Fields, YamlFields } from "#wire/yaml-fields.ts";
import { parseYaml } from "#wire/yaml.ts";

const yamlLimits = { bytesMax: 2 ** 20, depthMax: 8, aliasMax: 100 };
const failuresMax = 1_000;
const known = ["failure", "nodes", "zone", "percent", "at", "for", "every"];

/** Parses the file. If there are problems, the failures must not be used. */
export function parseFailureFile(text: string): {
  readonly failures: readonly ScheduledFailure[];
  readonly problems: readonly string[];
} {
  const parsed = parseYaml(text, yamlLimits);
  if (parsed.kind !== "ok") return { failures: [], problems: [parsed.message] };
  if (parsed.repeatedKeys !== undefined) return { failures: [], problems: parsed.repeatedKeys };
  const yaml = new YamlFields(text);
  const list = yaml.map(parsed.value, [], ["failures"])["failures"];
  if (!Array.isArray(list) || list.length > failuresMax) {
    yaml.problem(["failures"], `must be a list of at most ${failuresMax}`);
    return { failures: [], problems: yaml.problems };
  }
  const failures = list.flatMap((one, at) => readFailure(yaml, one, ["failures", at]) ?? []);
  return { failures, problems: yaml.problems };
}

function readFailure(
  yaml: YamlFields,
  value: unknown,
  path: FieldPath,
): ScheduledFailure | undefined {
  const map = yaml.map(value, path, known);
  const failure = parseFailure(yaml.text(map, path, "failure"));
  if (failure === undefined) yaml.problem([...path, "failure"], `must be one of ${failureForms}`);
  const atMs = duration(yaml, map, path, "at") ?? 0;
  const forMs = duration(yaml, map, path, "for") ?? Infinity;
  const everyMs = duration(yaml, map, path, "every") ?? Infinity;
  if (everyMs <= 0) yaml.problem([...path, "every"], "must be longer than 0");
  const nodes = readNodes(yaml, map, path);
  return failure === undefined ? undefined : { failure, nodes, atMs, forMs, everyMs };
}

function duration(
  yaml: YamlFields,
  map: Fields,
  path: FieldPath,
  name: string,
): number | undefined {
  const text = yaml.text(map, path, name);
  if (text === "") return undefined;
  const ms = parseGoDuration(text);
  if (ms !== undefined && ms >= 0) return ms;
  yaml.problem([...path, name], "must be a duration, as 30s or 5m");
  return undefined;
}

function readNodes(yaml: YamlFields, map: Fields, path: FieldPath): NodeChoice {
  const { nodes, percent } = map;
  const text = typeof nodes === "string" ? nodes : JSON.stringify(nodes);
  const range = nodes === undefined ? undefined : /^([0-9]{1,8})(?:-([0-9]{1,8}))?$/.exec(text);
  if (range === null) yaml.problem([...path, "nodes"], "must be an index or a range, as 0-9");
  const zone = yaml.text(map, path, "zone");
  const isShare = typeof percent === "number" && percent >= 0 && percent <= 100;
  if (percent !== undefined && !isShare) {
    yaml.problem([...path, "percent"], "must be a number from 0 to 100");
  }
  const [, from, to = from] = range ?? [];
  return given({
    from: from === undefined ? undefined : Number(from),
    to: to === undefined ? undefined : Number(to),
    zone: zone === "" ? undefined : zone,
    percent: isShare ? percent : undefined,
  });
}
