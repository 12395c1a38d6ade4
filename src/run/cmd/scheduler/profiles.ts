/**
 * The profiles of a KubeSchedulerConfiguration: which of the built-in plugins filter and score, with which
 * weights and arguments. What cannot be as asked is refused by its path.
 *
 * Extension points: `multiPoint` speaks for all of them; `filter` and `score` of a plugin go with its `preFilter` and
 * `preScore`; `postFilter` is preemption. At the others only what is so anyhow may be named.
 */
import {
  choosePlugins,
  defaultProfile,
  type PluginParts,
  type Profile,
} from "#scheduler/profile.ts";
import type { ConfigFields } from "./config-fields.ts";
import { readPluginArguments } from "./plugin-arguments.ts";

/** Parts of the scheduler itself: queue, gates, node names and binds. They cannot be switched off. */
const builtIn = ["PrioritySort", "SchedulingGates", "NodeName", "DefaultBinder"];
const preemption = "DefaultPreemption";
/** A default of upstream's that does not exist here: only to be switched off. */
const absent = ["ImageLocality"];
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
  "DynamicResources",
];
const known = [...builtIn, preemption, ...absent, ...choosable];
const chosenAt = ["multiPoint", "preFilter", "filter", "postFilter", "preScore", "score"] as const;
const fixedAt = ["preEnqueue", "queueSort", "reserve", "permit", "preBind", "bind", "postBind"];
/** As many schedulers in one process; each keeps classes of Pods of its own, up to 128 MiB. */
const profilesMax = 16;
const weightMax = 1_000_000;
const all = "*";

type Point = (typeof chosenAt)[number];

/** Of one extension point. */
interface Choice {
  /** Weight by name; undefined: the plugin's own. */
  readonly enabled: ReadonlyMap<string, number | undefined>;
  readonly disabled: ReadonlySet<string>;
}

export function readProfiles(root: ConfigFields): readonly Profile[] {
  const given = root.list("profiles");
  if (given.length === 0) return [defaultProfile];
  if (given.length > profilesMax) throw root.fault("profiles", `must be at most ${profilesMax}`);
  const profiles = given.map(readProfile);
  profiles.forEach(({ schedulerName }, i) => {
    const first = profiles.findIndex((other) => other.schedulerName === schedulerName);
    if (first < i) throw root.fault(`profiles[${i}].schedulerName`, "is that of another profile");
  });
  return profiles;
}

function readProfile(profile: ConfigFields): Profile {
  const fields = ["schedulerName", "plugins", "pluginConfig", "percentageOfNodesToScore"];
  profile.refuseOthers(fields, "is not supported here");
  const schedulerName = profile.text("schedulerName") ?? defaultProfile.schedulerName;
  const choices = readChoices(profile.child("plugins"));
  const plugins = choosePlugins(readPluginArguments(profile, known), (name) =>
    partsOf(choices, name),
  );
  return { schedulerName, plugins, preempts: isOn(choices, "postFilter", preemption) };
}

type Choices = Readonly<Record<Point, Choice>>;

function readChoices(plugins: ConfigFields): Choices {
  plugins.refuseOthers([...chosenAt, ...fixedAt], "is no extension point");
  for (const point of fixedAt) readFixed(plugins.child(point));
  const entries = chosenAt.map((point) => [point, readChoice(plugins.child(point))] as const);
  const choices = Object.fromEntries(entries) as Choices;
  for (const name of choosable) checkPairs(plugins, choices, name);
  return choices;
}

function readChoice(point: ConfigFields): Choice {
  point.refuseOthers(["enabled", "disabled"], "must be enabled or disabled");
  const enabled = new Map<string, number | undefined>();
  const disabled = new Set<string>();
  for (const plugin of point.list("enabled")) {
    const name = nameOf(plugin);
    if (absent.includes(name)) throw plugin.fault("name", `${name} is not built in here`);
    if (enabled.has(name)) throw plugin.fault("name", `${name} is enabled twice`);
    // As upstream, no weight and a weight of 0 are the plugin's own.
    const weight = plugin.number("weight", 0, weightMax) ?? 0;
    enabled.set(name, weight === 0 ? undefined : weight);
  }
  for (const plugin of point.list("disabled")) {
    const name = nameOf(plugin, [all]);
    if (builtIn.includes(name)) throw plugin.fault("name", `${name} cannot be switched off here`);
    disabled.add(name);
  }
  return { enabled, disabled };
}

function readFixed(point: ConfigFields): void {
  const { disabled } = readChoice(point);
  if (disabled.size === 0) return;
  throw point.fault("disabled", "is not supported here: disable the plugin at multiPoint");
}

function nameOf(plugin: ConfigFields, others: readonly string[] = []): string {
  plugin.refuseOthers(["name", "weight"], "must be name or weight");
  const name = plugin.text("name");
  if (name !== undefined && [...known, ...others].includes(name)) return name;
  throw plugin.fault("name", `must be a built-in plugin: ${known.join(", ")}`);
}

/** A plugin's second part reads what its first one prepared. */
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

/** What a point says goes before what multiPoint says. */
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
