/** `pluginConfig` of a scheduler's profile: arguments that are taken, and those that may only be the defaults. */
import type { NodeSelector, PreferredSchedulingTerm } from "#api/gen/types.ts";
import { defaultArguments, type PluginArguments } from "#scheduler/profile.ts";
import {
  leastAllocated,
  type ScoringStrategy,
  type ShapePoint,
} from "#scheduler/scoring-strategy.ts";
import { ownEntry } from "#base/own.ts";
import type { ConfigFields } from "./config-fields.ts";

type Reader = (args: ConfigFields) => Partial<PluginArguments>;

/** Upstream's bounds of weights, utilization and scores. */
const weightMax = 100;
const shapeScoreMax = 10;
const shapePointsMax = 101;
const strategies = ["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"] as const;

const readers: Readonly<Record<string, Reader>> = {
  NodeResourcesFit: readFit,
  InterPodAffinity(args) {
    refuseOthers(args, ["hardPodAffinityWeight", "ignorePreferredTermsOfExistingPods"]);
    const { hardPodAffinityWeight, ignorePreferredTermsOfExistingPods } = defaultArguments;
    const field = "ignorePreferredTermsOfExistingPods";
    return {
      hardPodAffinityWeight:
        args.number("hardPodAffinityWeight", 0, weightMax) ?? hardPodAffinityWeight,
      ignorePreferredTermsOfExistingPods: args.flag(field) ?? ignorePreferredTermsOfExistingPods,
    };
  },
  PodTopologySpread(args) {
    refuseOthers(args, ["defaultingType", "defaultConstraints"]);
    const type = args.oneOf("defaultingType", ["System", "List"]) ?? "System";
    if (args.list("defaultConstraints").length > 0) {
      throw args.fault(
        "defaultConstraints",
        "must be empty: other constraints than the built-in ones are not supported here",
      );
    }
    return { spreadsByDefault: type === "System" };
  },
  NodeAffinity: readAddedAffinity,
  DefaultPreemption: onlyDefaults({
    minCandidateNodesPercentage: 10,
    minCandidateNodesAbsolute: 100,
  }),
  VolumeBinding: onlyDefaults({ bindTimeoutSeconds: 600 }),
};

/** Throws UsageError. `plugins`: the names that there are. */
export function readPluginArguments(
  profile: ConfigFields,
  plugins: readonly string[],
): PluginArguments {
  let read = defaultArguments;
  const seen = new Set<string>();
  for (const one of profile.list("pluginConfig")) {
    one.refuseOthers(["name", "args"], "must be name or args");
    const name = one.text("name") ?? "";
    if (!plugins.includes(name)) throw one.fault("name", "must be a built-in plugin");
    if (seen.has(name)) throw one.fault("name", `${name} has arguments already`);
    seen.add(name);
    const args = one.child("args");
    checkKind(args, name);
    const reader = ownEntry(readers, name) ?? onlyDefaults({});
    read = { ...read, ...reader(args) };
  }
  return read;
}

function checkKind(args: ConfigFields, name: string): void {
  const kind = args.text("kind") ?? `${name}Args`;
  if (kind !== `${name}Args`) throw args.fault("kind", `must be ${name}Args`);
}

function refuseOthers(args: ConfigFields, known: readonly string[]): void {
  args.refuseOthers(["apiVersion", "kind", ...known], "is not supported here");
}

/** Arguments that say what is so anyhow. */
function onlyDefaults(defaults: Readonly<Record<string, number>>): Reader {
  return (args) => {
    refuseOthers(args, Object.keys(defaults));
    for (const [field, value] of Object.entries(defaults)) {
      const given = args.raw(field) ?? value;
      if (given !== value)
        throw args.fault(field, `must be ${value}: nothing else is supported here`);
    }
    return {};
  };
}

function readFit(args: ConfigFields): Partial<PluginArguments> {
  refuseOthers(args, ["scoringStrategy"]);
  const given = args.child("scoringStrategy");
  given.refuseOthers(["type", "resources", "requestedToCapacityRatio"], "is not supported here");
  const type = given.oneOf("type", strategies) ?? leastAllocated.type;
  const weights = readWeights(given);
  const shape = readShape(given.child("requestedToCapacityRatio"));
  if (type === "RequestedToCapacityRatio" && shape.length === 0) {
    throw given.fault("requestedToCapacityRatio.shape", "must have at least one point");
  }
  return { strategy: { type, ...weights, shape } };
}

function readWeights(given: ConfigFields): Pick<ScoringStrategy, "cpuWeight" | "memoryWeight"> {
  const resources = given.list("resources");
  if (resources.length === 0) return leastAllocated;
  const weights = new Map<string, number>();
  for (const one of resources) {
    one.refuseOthers(["name", "weight"], "must be name or weight");
    const name = one.oneOf("name", ["cpu", "memory"]) ?? "";
    if (name === "") throw one.fault("name", "must be cpu or memory");
    weights.set(name, one.number("weight", 0, weightMax) || 1);
  }
  return { cpuWeight: weights.get("cpu") ?? 0, memoryWeight: weights.get("memory") ?? 0 };
}

function readShape(given: ConfigFields): readonly ShapePoint[] {
  given.refuseOthers(["shape"], "must be shape");
  const points = given.list("shape");
  if (points.length > shapePointsMax)
    throw given.fault("shape", `must be at most ${shapePointsMax} points`);
  let last = -1;
  return points.map((point) => {
    point.refuseOthers(["utilization", "score"], "must be utilization or score");
    const utilization = point.number("utilization", 0, 100) ?? 0;
    const score = point.number("score", 0, shapeScoreMax) ?? 0;
    if (utilization <= last)
      throw point.fault("utilization", "must be greater than the one before");
    last = utilization;
    return { utilization, score };
  });
}

const operators = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];

function readAddedAffinity(args: ConfigFields): Partial<PluginArguments> {
  refuseOthers(args, ["addedAffinity"]);
  const given = args.child("addedAffinity");
  const requiredField = "requiredDuringSchedulingIgnoredDuringExecution";
  const preferredField = "preferredDuringSchedulingIgnoredDuringExecution";
  given.refuseOthers([requiredField, preferredField], "is not supported here");
  for (const term of given.child(requiredField).list("nodeSelectorTerms")) checkTerm(term);
  for (const wish of given.list(preferredField)) {
    if (wish.number("weight", 1, weightMax) === undefined)
      throw wish.fault("weight", "must be there");
    checkTerm(wish.child("preference"));
  }
  const required = given.raw(requiredField) as NodeSelector | undefined;
  const preferred = (given.raw(preferredField) ?? []) as readonly PreferredSchedulingTerm[];
  return { addedAffinity: { required, preferred } };
}

function checkTerm(term: ConfigFields): void {
  term.refuseOthers(["matchExpressions", "matchFields"], "must be matchExpressions or matchFields");
  for (const field of ["matchExpressions", "matchFields"]) {
    for (const one of term.list(field)) {
      one.refuseOthers(["key", "operator", "values"], "must be key, operator or values");
      if (one.text("key") === undefined) throw one.fault("key", "must be there");
      if (one.oneOf("operator", operators) === undefined)
        throw one.fault("operator", `must be ${operators.join(" or ")}`);
      const values = one.raw("values") ?? [];
      const isTexts = Array.isArray(values) && values.every((value) => typeof value === "string");
      if (!isTexts) throw one.fault("values", "must be a list of texts");
    }
  }
}
