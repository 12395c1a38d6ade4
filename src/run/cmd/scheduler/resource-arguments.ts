/** NodeResourcesFitArgs and NodeResourcesBalancedAllocationArgs, as upstream validates them. */
import {
  duplicate,
  forbiddenField,
  invalidEach,
  invalidValue,
  notSupported,
  required,
} from "#api/validation/errors.ts";
import { qualifiedNameErrors } from "#api/selectors/label-syntax.ts";
import { defaultArguments, type PluginArguments } from "#scheduler/profile.ts";
import {
  cpuAndMemory,
  leastAllocated,
  type ScoringStrategy,
  type ShapePoint,
  type WeightedResource,
} from "#scheduler/scoring-strategy.ts";
import type { ConfigFields } from "./config-fields.ts";

const weightMax = 100;
const shapeScoreMax = 10;
/** Maximum number of points. Upstream sets none, but utilization is a rising whole number from 0 to 100. */
const shapePointsMax = 101;
const strategies = ["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"] as const;
const ratio = "requestedToCapacityRatio";

export function readFit(args: ConfigFields): Partial<PluginArguments> {
  args.refuseUnknown([
    ...typeFields,
    "ignoredResources",
    "ignoredResourceGroups",
    "scoringStrategy",
  ]);
  const names = args.texts("ignoredResources");
  const groups = args.texts("ignoredResourceGroups");
  names.forEach((name, i) => noteLabel(args, `ignoredResources[${i}]`, name));
  groups.forEach((group, i) => {
    const at = `ignoredResourceGroups[${i}]`;
    if (group.includes("/")) {
      args.note(invalidValue(args.at(at), group, "resource group name can't contain '/'"));
    }
    noteLabel(args, at, group);
  });
  const ignoredResources = { names: new Set(names), groups: new Set(groups) };
  const given = args.has("scoringStrategy");
  const strategy = given ? readStrategy(args.child("scoringStrategy")) : leastAllocated;
  return { ignoredResources, strategy };
}

/** Fields that every kind of arguments has. */
export const typeFields = ["apiVersion", "kind"];

function noteLabel(args: ConfigFields, field: string, name: string): void {
  args.note(...invalidEach(args.at(field), name, qualifiedNameErrors(name)));
}

function readStrategy(given: ConfigFields): ScoringStrategy {
  given.refuseUnknown(["type", "resources", ratio]);
  const named = given.text("type") ?? "";
  const type = strategies.find((known) => known === named);
  if (type === undefined) given.note(notSupported(given.at("type"), named, strategies));
  const resources = given.list("resources").map(readResource);
  const isRatio = type === "RequestedToCapacityRatio";
  if (isRatio && !given.has(ratio)) {
    given.note(
      required(given.at(ratio), "must be specified when type is RequestedToCapacityRatio"),
    );
  }
  if (!isRatio && given.has(ratio)) {
    given.note(
      forbiddenField(given.at(ratio), "must be nil when type is not RequestedToCapacityRatio"),
    );
  }
  return {
    type: type ?? leastAllocated.type,
    resources: resources.length === 0 ? cpuAndMemory : resources,
    shape: isRatio && given.has(ratio) ? readShape(given.child(ratio)) : [],
  };
}

function readResource(one: ConfigFields): WeightedResource {
  one.refuseUnknown(["name", "weight"]);
  const name = one.text("name") ?? "";
  // As upstream, a missing weight and a weight of 0 mean 1.
  const weight = one.integer("weight") || 1;
  if (weight < 0 || weight > weightMax) {
    const detail = `resource weight of ${name} not in valid range (0, 100]`;
    one.note(invalidValue(one.at("weight"), weight, detail));
  }
  return { name, weight };
}

function readShape(given: ConfigFields): readonly ShapePoint[] {
  given.refuseUnknown(["shape"]);
  const points = given.list("shape");
  const at = given.at("shape");
  if (points.length === 0) given.note(required(at, "at least one point must be specified"));
  if (points.length > shapePointsMax) {
    throw given.fault("shape", `must be at most ${shapePointsMax} points`);
  }
  const shape = points.map(readPoint);
  const fallsAt = shape.findIndex((point, i) => {
    const before = shape[i - 1];
    return before !== undefined && before.utilization >= point.utilization;
  });
  if (fallsAt !== -1) {
    const detail = "values must be sorted in increasing order";
    given.note(invalidValue(`${at}[${fallsAt}].utilization`, shape[fallsAt]?.utilization, detail));
  }
  shape.forEach(({ utilization, score }, i) => {
    noteRange(given, `shape[${i}].utilization`, utilization, 100);
    noteRange(given, `shape[${i}].score`, score, shapeScoreMax);
  });
  return shape;
}

function readPoint(point: ConfigFields): ShapePoint {
  point.refuseUnknown(["utilization", "score"]);
  const utilization = point.integer("utilization") ?? 0;
  return { utilization, score: point.integer("score") ?? 0 };
}

/** Notes a number that is not from 0 to `most`, with upstream's text. */
export function noteRange(args: ConfigFields, field: string, value: number, most: number): void {
  if (value >= 0 && value <= most) return;
  args.note(invalidValue(args.at(field), value, `not in valid range [0, ${most}]`));
}

export function readBalanced(args: ConfigFields): Partial<PluginArguments> {
  args.refuseUnknown([...typeFields, "resources"]);
  const seen = new Set<string>();
  for (const one of args.list("resources")) {
    one.refuseUnknown(["name", "weight"]);
    const name = one.text("name") ?? "";
    const weight = one.integer("weight") || 1;
    if (seen.has(name)) args.note(duplicate(one.at("name"), name));
    if (weight !== 1) args.note(invalidValue(one.at("weight"), weight, "must be 1"));
    seen.add(name);
  }
  return { balancedResources: seen.size === 0 ? defaultArguments.balancedResources : [...seen] };
}
