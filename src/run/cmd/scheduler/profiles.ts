/**
 * The profiles of a KubeSchedulerConfiguration: which of the built-in plugins filter and score, with which
 * weights and arguments. What cannot be as asked is refused by its path.
 *
 * Extension points: `multiPoint` speaks for all of them; `filter` and `score` of a plugin go with its `preFilter` and
 * `preScore`; `postFilter` is preemption. At the others only what is so anyhow may be named.
 */
import { duplicate, invalidValue, required } from "#api/validation/errors.ts";
import {
  choosePlugins,
  defaultProfile,
  type PluginArguments,
  type PluginParts,
  type Profile,
} from "#scheduler/profile.ts";
import type { SampleSize } from "#scheduler/sample-size.ts";
import type { ConfigFields } from "./config-fields.ts";
import { readPluginArguments } from "./plugin-arguments.ts";

/** Parts of the scheduler itself that cannot be switched off: queue, gates, node names and binds. */
const builtIn = ["PrioritySort", "SchedulingGates", "NodeName", "DefaultBinder"];
const preemption = "DefaultPreemption";
const choosable = [
  "NodeUnschedulable",
  "TaintToleration",
  "NodeAffinity",
  "NodePorts",
  "NodeResourcesFit",
  "VolumeRestrictions",
  "NodeVolumeLimits",
  "VolumeBinding",
  "VolumeZone",
  "PodTopologySpread",
  "InterPodAffinity",
  "NodeResourcesBalancedAllocation",
  "ImageLocality",
  "DynamicResources",
  "NodeDeclaredFeatures",
];
const known = [...builtIn, preemption, ...choosable];
/** Upstream's own list of plugin names that were removed with an older version of the kind. */
const gone = ["AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"];
const chosenAt = ["multiPoint", "preFilter", "filter", "postFilter", "preScore", "score"] as const;
/** Plugins that always run at the other extension points. */
const fixedAt = {
  preEnqueue: ["SchedulingGates"],
  queueSort: ["PrioritySort"],
  reserve: ["VolumeBinding", "DynamicResources"],
  permit: [],
  preBind: ["VolumeBinding", "DynamicResources"],
  bind: ["DefaultBinder"],
  postBind: [],
  placementGenerate: [],
  placementScore: [],
} as const;
/** Maximum number of profiles. Each one is a scheduler in the same process with its own classes of Pods, up to 128 MiB. */
const profilesMax = 16;
const weightMax = 1_000_000;
const all = "*";
const percentageField = "percentageOfNodesToScore";

type Point = (typeof chosenAt)[number];

/** Enabled and disabled plugins of one extension point. */
interface Choice {
  /** By plugin name: its weight. Undefined: the plugin's own weight. */
  readonly enabled: ReadonlyMap<string, number | undefined>;
  readonly disabled: ReadonlySet<string>;
}

/** Reads the profiles. `ignored`: extended resources that only an extender handles. */
export function readProfiles(root: ConfigFields, ignored: readonly string[]): readonly Profile[] {
  const given = root.list("profiles");
  const sample = readSample(root) ?? "all";
  if (given.length === 0 && ignored.length === 0) return [{ ...defaultProfile, sample }];
  if (given.length > profilesMax) throw root.fault("profiles", `must be at most ${profilesMax}`);
  const fields = given.length === 0 ? [root.child("profiles[0]")] : given;
  if (given.length > 1) noteNames(given);
  return fields.map((profile) => readProfile(profile, sample, ignored));
}

/** Returns the sample size. Undefined: not configured. The value 0 selects upstream's adaptive share. */
function readSample(fields: ConfigFields): SampleSize | undefined {
  const percentage = fields.integer(percentageField);
  if (percentage === undefined) return undefined;
  if (percentage < 0 || percentage > 100) {
    const detail = "not in valid range [0-100]";
    fields.note(invalidValue(fields.at(percentageField), percentage, detail));
  }
  return percentage === 0 ? "adaptive" : percentage;
}

function noteNames(profiles: readonly ConfigFields[]): void {
  const firstAt = new Map<string, string>();
  for (const profile of profiles) {
    const at = profile.at("schedulerName");
    const name = profile.text("schedulerName") ?? "";
    if (name === "") profile.note(required(at));
    const first = firstAt.get(name);
    if (first === undefined) firstAt.set(name, at);
    else profile.note({ ...duplicate(at, ""), message: `Duplicate value: ${first}` });
  }
}

function readProfile(
  profile: ConfigFields,
  sample: SampleSize,
  ignored: readonly string[],
): Profile {
  profile.refuseUnknown(["schedulerName", "plugins", "pluginConfig", percentageField]);
  const schedulerName = profile.text("schedulerName") ?? defaultProfile.schedulerName;
  const choices = readChoices(profile.child("plugins"));
  const args = withIgnored(readPluginArguments(profile, known), ignored);
  const plugins = choosePlugins(args, (name) => partsOf(choices, name));
  const preempts = isOn(choices, "postFilter", preemption);
  return {
    schedulerName,
    plugins,
    preemption: preempts ? args.preemption : undefined,
    sample: readSample(profile) ?? sample,
  };
}

function withIgnored(args: PluginArguments, ignored: readonly string[]): PluginArguments {
  if (ignored.length === 0) return args;
  const { names, groups } = args.ignoredResources;
  return { ...args, ignoredResources: { names: new Set([...names, ...ignored]), groups } };
}

type Choices = Readonly<Record<Point, Choice>>;

function readChoices(plugins: ConfigFields): Choices {
  plugins.refuseUnknown([...chosenAt, ...Object.keys(fixedAt)]);
  for (const [point, needed] of Object.entries(fixedAt)) readFixed(plugins.child(point), needed);
  const entries = chosenAt.map((point) => [point, readChoice(plugins.child(point))] as const);
  const choices = Object.fromEntries(entries) as Choices;
  checkBuiltIn(plugins, choices);
  for (const name of choosable) checkPairs(plugins, choices, name);
  return choices;
}

function checkBuiltIn(plugins: ConfigFields, { multiPoint }: Choices): void {
  const missing = builtIn.find((name) => multiPoint.disabled.has(name));
  if (missing === undefined || multiPoint.enabled.has(missing)) return;
  throw plugins.fault(
    "multiPoint.disabled",
    `must leave ${missing} on: it cannot be switched off here`,
  );
}

function readChoice(point: ConfigFields): Choice {
  point.refuseUnknown(["enabled", "disabled"]);
  const enabled = new Map<string, number | undefined>();
  const disabled = new Set<string>();
  for (const plugin of point.list("enabled")) {
    const name = nameOf(plugin);
    if (enabled.has(name)) throw plugin.fault("name", `${name} is enabled twice`);
    // As upstream, a missing weight and a weight of 0 mean the plugin's own.
    const weight = plugin.number("weight", 0, weightMax) ?? 0;
    enabled.set(name, weight === 0 ? undefined : weight);
  }
  for (const plugin of point.list("disabled")) {
    const name = nameOf(plugin, [all]);
    disabled.add(name);
  }
  return { enabled, disabled };
}

/** Allows to disable a plugin that always runs at the point only where it is enabled again. */
function readFixed(point: ConfigFields, needed: readonly string[]): void {
  const { enabled, disabled } = readChoice(point);
  const missing = needed.find((name) => {
    return (disabled.has(name) || disabled.has(all)) && !enabled.has(name);
  });
  if (missing === undefined) return;
  throw point.fault("disabled", `must leave ${missing} on: it cannot be switched off here alone`);
}

function nameOf(plugin: ConfigFields, others: readonly string[] = []): string {
  plugin.refuseUnknown(["name", "weight"]);
  const name = plugin.text("name") ?? "";
  if (gone.includes(name)) {
    const detail =
      'was invalid in version "v1" (KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")';
    plugin.note(invalidValue(plugin.path, name, detail));
    return name;
  }
  if ([...known, ...others].includes(name)) return name;
  throw plugin.fault("name", `must be a built-in plugin: ${known.join(", ")}`);
}

/** Checks both parts of a plugin, because the second part reads the data that the first one prepared. */
function checkPairs(plugins: ConfigFields, choices: Choices, name: string): void {
  for (const [first, second] of [
    ["preFilter", "filter"],
    ["preScore", "score"],
  ] as const) {
    const isCut = choices[first].disabled.has(name) || choices[first].disabled.has(all);
    if (isCut && !isOn(choices, first, name) && isOn(choices, second, name)) {
      throw plugins.fault(first, `must not disable ${name} alone: disable it at ${second}, too`);
    }
  }
}

/** Whether a plugin is enabled. The choice of a point takes precedence over that of multiPoint. */
function isOn(choices: Choices, point: Point, name: string): boolean {
  const { enabled, disabled } = choices[point];
  if (enabled.has(name)) return true;
  if (disabled.has(name) || disabled.has(all)) return false;
  return point === "multiPoint" || isOn(choices, "multiPoint", name);
}

function partsOf(choices: Choices, name: string): PluginParts {
  return {
    filters: isOn(choices, "filter", name),
    scores: isOn(choices, "score", name),
    weight: choices.score.enabled.get(name) ?? choices.multiPoint.enabled.get(name),
  };
}
