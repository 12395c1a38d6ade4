/**
 * `pluginConfig` of a scheduler's profile: the arguments of the built-in plugins, as upstream validates them.
 * After  k/k pkg/scheduler/apis/config/validation/validation_pluginargs.go.
 */
import type {
  NodeSelector,
  PreferredSchedulingTerm,
  TopologySpreadConstraint,
} from "#api/gen/types.ts";
import type { FieldError } from "#api/status.ts";
import { ownEntry } from "#base/own.ts";
import { qualifiedNameErrors } from "#api/selectors/label-syntax.ts";
import {
  duplicate,
  forbiddenField,
  invalidEach,
  invalidJson,
  invalidValue,
  notSupported,
  required,
} from "#api/validation/errors.ts";
import { checkAffinity } from "#api/validation/scheduling.ts";
import { defaultArguments, type PluginArguments } from "#scheduler/profile.ts";
import { milliseconds } from "../shared/flag-values.ts";
import type { ConfigFields } from "./config-fields.ts";
import { noteRange, readBalanced, readFit, typeFields } from "./resource-arguments.ts";

type Reader = (args: ConfigFields) => Partial<PluginArguments>;

const weightMax = 100;

const readers: Readonly<Record<string, Reader>> = {
  NodeResourcesFit: readFit,
  NodeResourcesBalancedAllocation: readBalanced,
  InterPodAffinity: readInterPodAffinity,
  PodTopologySpread: readSpread,
  NodeAffinity: readAddedAffinity,
  DefaultPreemption: readPreemption,
  VolumeBinding: readVolumeBinding,
  DynamicResources: readDevices,
};

/** Reads the arguments of plugins. Throws UsageError. `plugins`: the names of the existing plugins. */
export function readPluginArguments(
  profile: ConfigFields,
  plugins: readonly string[],
): PluginArguments {
  let read = defaultArguments;
  const seen = new Set<string>();
  for (const one of profile.list("pluginConfig")) {
    one.refuseUnknown(["name", "args"]);
    const name = one.text("name") ?? "";
    if (!plugins.includes(name)) throw one.fault("name", "must be a built-in plugin");
    if (seen.has(name)) one.note(duplicate(one.path, name));
    seen.add(name);
    const args = one.child("args");
    checkKind(args, name);
    const reader = ownEntry(readers, name) ?? noArguments;
    read = { ...read, ...reader(args) };
  }
  return read;
}

function checkKind(args: ConfigFields, name: string): void {
  const kind = args.text("kind") ?? `${name}Args`;
  if (kind !== `${name}Args`) throw args.fault("kind", `must be ${name}Args`);
}

function noArguments(args: ConfigFields): Partial<PluginArguments> {
  args.refuseUnknown(typeFields);
  return {};
}

function readInterPodAffinity(args: ConfigFields): Partial<PluginArguments> {
  const ignoreField = "ignorePreferredTermsOfExistingPods";
  args.refuseUnknown([...typeFields, "hardPodAffinityWeight", ignoreField]);
  const weight = args.integer("hardPodAffinityWeight") ?? defaultArguments.hardPodAffinityWeight;
  noteRange(args, "hardPodAffinityWeight", weight, weightMax);
  return {
    hardPodAffinityWeight: weight,
    ignorePreferredTermsOfExistingPods: args.flag(ignoreField) ?? false,
  };
}

function readPreemption(args: ConfigFields): Partial<PluginArguments> {
  const [percentageField, absoluteField] = [
    "minCandidateNodesPercentage",
    "minCandidateNodesAbsolute",
  ];
  args.refuseUnknown([...typeFields, percentageField, absoluteField]);
  const { preemption } = defaultArguments;
  const percentage = args.integer(percentageField) ?? preemption.minCandidateNodesPercentage;
  const absolute = args.integer(absoluteField) ?? preemption.minCandidateNodesAbsolute;
  noteRange(args, percentageField, percentage, 100);
  if (absolute < 0) {
    args.note(invalidValue(args.at(absoluteField), absolute, "not in valid range [0, inf)"));
  }
  if (percentage === 0 && absolute === 0) {
    const and = "cannot be zero at the same time as";
    args.note(invalidValue(args.at(percentageField), 0, `${and} ${absoluteField}`));
    args.note(invalidValue(args.at(absoluteField), 0, `${and} ${percentageField}`));
  }
  const limits = {
    minCandidateNodesPercentage: percentage,
    minCandidateNodesAbsolute: absolute,
  };
  return { preemption: limits };
}

function readVolumeBinding(args: ConfigFields): Partial<PluginArguments> {
  args.refuseUnknown([...typeFields, "bindTimeoutSeconds", "shape"]);
  const seconds = args.integer("bindTimeoutSeconds") ?? defaultArguments.bindTimeoutMs / 1000;
  if (seconds < 0) {
    const detail = "invalid BindTimeoutSeconds, should not be a negative value";
    args.note(invalidValue(args.at("bindTimeoutSeconds"), seconds, detail));
  }
  if (args.has("shape")) {
    const detail =
      "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring";
    args.note(invalidJson(args.at("shape"), JSON.stringify(args.raw("shape")), detail));
  }
  return { bindTimeoutMs: seconds * 1000 };
}

/** Upstream's timeouts of a slow filter and of slow devices. Only the values in effect here are accepted. */
function readDevices(args: ConfigFields): Partial<PluginArguments> {
  args.refuseUnknown([...typeFields, "filterTimeout", "bindingTimeout"]);
  for (const [field, value] of [
    ["filterTimeout", "10s"],
    ["bindingTimeout", "10m"],
  ] as const) {
    if (milliseconds(args.raw(field) ?? value) === milliseconds(value)) continue;
    throw args.fault(field, `must be ${value}: nothing else is supported here`);
  }
  return {};
}

const actions = ["DoNotSchedule", "ScheduleAnyway"] as const;
const defaultings = ["System", "List"] as const;
const spreadFields = [
  "labelSelector",
  "matchLabelKeys",
  "maxSkew",
  "minDomains",
  "nodeAffinityPolicy",
  "nodeTaintsPolicy",
  "topologyKey",
  "whenUnsatisfiable",
];

function readSpread(args: ConfigFields): Partial<PluginArguments> {
  args.refuseUnknown([...typeFields, "defaultingType", "defaultConstraints"]);
  const type = args.text("defaultingType") ?? "System";
  const given = args.list("defaultConstraints");
  const at = args.at("defaultingType");
  if (!defaultings.some((known) => known === type)) args.note(notSupported(at, type, defaultings));
  else if (type === "System" && given.length > 0) {
    args.note(invalidValue(at, type, "when .defaultConstraints are not empty"));
  }
  const seen = new Set<string>();
  const constraints = given.map((one) => {
    const constraint = readConstraint(one);
    const pair = `{${constraint.topologyKey}, ${constraint.whenUnsatisfiable}}`;
    if (seen.has(pair)) args.note(duplicate(one.path, pair));
    seen.add(pair);
    return constraint;
  });
  return { defaultConstraints: type === "System" ? "built-in" : constraints };
}

function readConstraint(one: ConfigFields): TopologySpreadConstraint {
  one.refuseUnknown(spreadFields);
  const maxSkew = one.integer("maxSkew") ?? 0;
  const topologyKey = one.text("topologyKey") ?? "";
  const whenUnsatisfiable = one.text("whenUnsatisfiable") ?? "";
  if (maxSkew <= 0) {
    one.note(invalidValue(one.at("maxSkew"), maxSkew, "not in valid range (0, inf)"));
  }
  one.note(...topologyErrors(one.at("topologyKey"), topologyKey));
  one.note(...actionErrors(one.at("whenUnsatisfiable"), whenUnsatisfiable));
  if (one.has("labelSelector")) {
    const detail = "constraint must not define a selector, as they deduced for each pod";
    one.note(forbiddenField(one.at("labelSelector"), detail));
  }
  const minDomains = one.integer("minDomains");
  const affinity = one.text("nodeAffinityPolicy");
  const taints = one.text("nodeTaintsPolicy");
  return {
    maxSkew,
    topologyKey,
    whenUnsatisfiable,
    ...(minDomains === undefined ? {} : { minDomains }),
    ...(affinity === undefined ? {} : { nodeAffinityPolicy: affinity }),
    ...(taints === undefined ? {} : { nodeTaintsPolicy: taints }),
  };
}

function topologyErrors(at: string, key: string): readonly FieldError[] {
  if (key === "") return [required(at, "can not be empty")];
  return invalidEach(at, key, qualifiedNameErrors(key));
}

function actionErrors(at: string, action: string): readonly FieldError[] {
  if (action === "") return [required(at, "can not be empty")];
  return actions.some((known) => known === action) ? [] : [notSupported(at, action, actions)];
}

function readAddedAffinity(args: ConfigFields): Partial<PluginArguments> {
  args.refuseUnknown([...typeFields, "addedAffinity"]);
  const given = args.child("addedAffinity");
  const requiredField = "requiredDuringSchedulingIgnoredDuringExecution";
  const preferredField = "preferredDuringSchedulingIgnoredDuringExecution";
  given.refuseUnknown([requiredField, preferredField]);
  noteAffinity(args);
  const wanted = given.raw(requiredField) as NodeSelector | undefined;
  const preferred = (given.raw(preferredField) ?? []) as readonly PreferredSchedulingTerm[];
  return { addedAffinity: { required: wanted, preferred } };
}

const operators = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];

/**
 * The API server's own findings about a Pod's node affinity, under the path of the arguments. One of them
 * the scheduler words otherwise.
 */
function noteAffinity(args: ConfigFields): void {
  const found: FieldError[] = [];
  checkAffinity(found, { nodeAffinity: args.raw("addedAffinity") ?? {} }, args.path);
  for (const finding of found) {
    const field = finding.field.replace(`${args.path}.nodeAffinity`, args.at("addedAffinity"));
    const operator = /^Invalid value: "(.*)": not a valid selector operator$/.exec(finding.message);
    if (operator === null) args.note({ ...finding, field });
    else args.note(notSupported(field, operator[1], operators));
  }
}
