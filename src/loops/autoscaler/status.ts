/** Text of the ConfigMap `cluster-autoscaler-status`, in upstream's format (clusterstate/api/types.go), as YAML. */
import { formatTime } from "#api/values/time.ts";
import type { Book } from "./book.ts";
import type { GroupHealth } from "./group-health.ts";
import type { Plan } from "./plan.ts";

/** Maximum number of groups shown, because a ConfigMap holds at most one megabyte. */
const groupsMax = 1_000;

interface Tree {
  readonly [name: string]: string | number | Tree | readonly Tree[];
}

/** By condition: its status, and the time of its last change. Kept from loop to loop. */
export type Transitions = Map<string, { readonly status: string; readonly atMs: number }>;

export function statusText(
  plan: Plan,
  {
    book,
    transitions,
    nowMs,
  }: { readonly book: Book; readonly transitions: Transitions; readonly nowMs: number },
): string {
  const condition = (key: string, status: string, more: Tree = {}): Tree => {
    const known = transitions.get(key);
    const atMs = known?.status === status ? known.atMs : nowMs;
    transitions.set(key, { status, atMs });
    const times = { lastProbeTime: formatTime(nowMs), lastTransitionTime: formatTime(atMs) };
    return { status, ...more, ...times };
  };
  const { groups, readyNodes, unreadyNodes } = plan.health;
  const own = groups.filter(({ group }) => group.isOwn).slice(0, groupsMax);
  const upcoming = groups.reduce((sum, one) => sum + one.upcoming, 0);
  const lost = groups.reduce((sum, one) => sum + one.lost, 0);
  const unneeded = plan.scaleDown.unneeded;
  const tree: Tree = {
    time: formatTime(nowMs),
    autoscalerStatus: "Running",
    clusterWide: {
      health: condition("health", plan.isHealthy ? "Healthy" : "Unhealthy", {
        nodeCounts: nodeCounts({ ready: readyNodes, unready: unreadyNodes, upcoming, lost }),
      }),
      scaleUp: condition("scaleUp", upcoming > 0 ? "InProgress" : "NoActivity"),
      scaleDown: condition("scaleDown", ...candidates(unneeded.size)),
    },
    nodeGroups: own.map((one) => groupTree(one, { plan, book, nowMs, condition })),
  };
  const names = new Set(own.map(({ group }) => group.id));
  for (const key of transitions.keys()) {
    const [, group] = key.split("\n");
    if (group !== undefined && !names.has(group)) transitions.delete(key);
  }
  return yamlOf(tree, 0);
}

function candidates(count: number): [string, Tree] {
  return count === 0 ? ["NoCandidates", {}] : ["CandidatesPresent", { candidates: count }];
}

interface GroupDeps {
  readonly plan: Plan;
  readonly book: Book;
  readonly nowMs: number;
  readonly condition: (key: string, status: string, more?: Tree) => Tree;
}

function groupTree(
  { group, nodes, ready, upcoming, lost }: GroupHealth,
  { plan, book, nowMs, condition }: GroupDeps,
): Tree {
  const { id, target, min, max } = group;
  const backoff = book.backoffOf(id, nowMs);
  const unneeded = nodes.filter(({ metadata }) =>
    plan.scaleDown.unneeded.has(metadata?.name ?? ""),
  ).length;
  const isHealthy = lost === 0 && backoff === undefined;
  const scaleUp = backoff !== undefined ? "Backoff" : upcoming > 0 ? "InProgress" : "NoActivity";
  const why: Tree =
    backoff === undefined
      ? {}
      : { backoffInfo: { errorCode: backoff.code, errorMessage: backoff.message } };
  return {
    name: id,
    health: condition(`health\n${id}`, isHealthy ? "Healthy" : "Unhealthy", {
      nodeCounts: nodeCounts({ ready, unready: nodes.length - ready, upcoming, lost }),
      cloudProviderTarget: target,
      minSize: min,
      maxSize: max,
    }),
    scaleUp: condition(`scaleUp\n${id}`, scaleUp, why),
    scaleDown: condition(`scaleDown\n${id}`, ...candidates(unneeded)),
  };
}

interface Counts {
  readonly ready: number;
  readonly unready: number;
  readonly upcoming: number;
  readonly lost: number;
}

function nodeCounts({ ready, unready, upcoming, lost }: Counts): Tree {
  const total = ready + unready;
  const registered = {
    total,
    ready,
    notStarted: 0,
    unready: { total: unready, resourceUnready: 0 },
  };
  return { registered, longUnregistered: lost, unregistered: upcoming };
}

function yamlOf(tree: Tree, depth: number): string {
  const indent = "  ".repeat(depth);
  let text = "";
  for (const [name, value] of Object.entries(tree)) {
    if (isList(value)) {
      text += `${indent}${name}:${value.length === 0 ? " []" : ""}\n`;
      for (const one of value) {
        const lines = yamlOf(one, depth + 1);
        text += `${indent}- ${lines.slice(indent.length + 2)}`;
      }
    } else if (typeof value === "object") {
      text += `${indent}${name}:\n${yamlOf(value, depth + 1)}`;
    } else text += `${indent}${name}: ${scalar(value)}\n`;
  }
  return text;
}

function isList(value: Tree[string]): value is readonly Tree[] {
  return Array.isArray(value);
}

/** Texts from a provider may contain anything. JSON quoting is valid in YAML. */
function scalar(value: string | number): string {
  if (typeof value === "number" || /^[A-Za-z][-A-Za-z0-9]*$/.test(value)) return String(value);
  return JSON.stringify(value);
}
