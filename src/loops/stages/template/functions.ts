/**
 * The functions of kwok's templates: Go's own, sprig's, and kwok's. Each is looked up by name, from one closed table.
 *
 * What needs the world (addresses, the time) comes with `StageFacts`, per run.
 */
import { goJson } from "#api/go/go-json.ts";
import { integer, list, text } from "./arguments.ts";
import { builtins } from "./builtins.ts";
import type { TemplateFunction, TemplateFunctions } from "./run.ts";
import { collectionFunctions } from "./sprig-collections.ts";
import { textFunctions } from "./sprig-texts.ts";
import { sizeOf } from "./values.ts";
import { yamlText } from "./yaml-text.ts";

/** Facts that kwok's own template functions return. */
export interface StageFacts {
  readonly nowMs: number;
  readonly startMs: number;
  readonly version: string;
  nodeIp(): string;
  nodeName(): string;
  nodePort(): number;
  /** Returns the IP address of the named node. */
  nodeIpWith(nodeName: string): string;
  /** Returns the pod's own IP address; repeated calls for a pod return the same one. */
  podIpWith(nodeName: string, isHostNetwork: boolean, uid: string): string;
}

/** Conditions of a healthy kubelet, over which NodeConditions ranges. */
const healthyConditions = [
  condition("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
  condition(
    "MemoryPressure",
    "False",
    "KubeletHasSufficientMemory",
    "kubelet has sufficient memory available",
  ),
  condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
  condition(
    "PIDPressure",
    "False",
    "KubeletHasSufficientPID",
    "kubelet has sufficient PID available",
  ),
  condition("NetworkUnavailable", "False", "RouteCreated", "RouteController created a route"),
] as const;

function condition(type: string, status: string, reason: string, message: string) {
  return { type, status, reason, message };
}

const pure: Readonly<Record<string, TemplateFunction>> = {
  ...textFunctions,
  ...collectionFunctions,
  ...builtins,
  Quote: ([value]) => quoted(value),
  YAML: ([value, indent], budget) => {
    budget.chars(sizeOf(value) * 2);
    const made = yamlText(value);
    const depth = integer(indent);
    if (depth <= 0) return made;
    budget.chars(made.split("\n").length * depth * 2);
    return `\n${made}`.replaceAll("\n", `\n${" ".repeat(depth * 2)}`);
  },
  NodeConditions: () => healthyConditions,
};

const ofFacts: Readonly<Record<string, (facts: StageFacts) => TemplateFunction>> = {
  Now: (facts) => () => new Date(facts.nowMs).toISOString(),
  now: (facts) => () => new Date(facts.nowMs).toISOString(),
  StartTime: (facts) => () => new Date(facts.startMs).toISOString(),
  Version: (facts) => () => facts.version,
  NodeIP: (facts) => () => facts.nodeIp(),
  NodeName: (facts) => () => facts.nodeName(),
  NodePort: (facts) => () => facts.nodePort(),
  NodeIPWith:
    (facts) =>
    ([node]) =>
      facts.nodeIpWith(text(node)),
  NodeIPsWith:
    (facts) =>
    ([node]) => [facts.nodeIpWith(text(node))],
  PodIP: (facts) => () => facts.podIpWith("", false, ""),
  PodIPWith: podIp,
  PodIPsWith: (facts) => (args, budget) => list([podIp(facts)(args, budget)]),
};

function podIp(facts: StageFacts): TemplateFunction {
  return ([node, isHostNetwork, uid]) =>
    facts.podIpWith(text(node), isHostNetwork === true, text(uid));
}

/** As kwok: the value's JSON text, in quotes. */
function quoted(value: unknown): string {
  const json = goJson(value ?? null);
  return json.startsWith('"') ? json : JSON.stringify(json);
}

export function hasStageFunction(name: string): boolean {
  return Object.hasOwn(pure, name) || Object.hasOwn(ofFacts, name);
}

const pureMap: ReadonlyMap<string, TemplateFunction> = new Map(Object.entries(pure));

export function stageFunctions(facts: StageFacts): TemplateFunctions {
  const all = new Map(pureMap);
  for (const [name, make] of Object.entries(ofFacts)) all.set(name, make(facts));
  return all;
}
