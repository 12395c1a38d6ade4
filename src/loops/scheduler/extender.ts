/**
 * Scheduler extenders: external programs that filter nodes, score nodes, select victims of preemption, and may bind
 * instead of the scheduler. They are called over HTTP. Their answers are checked before they are used.
 *
 * Wire   JSON of k8s.io/kube-scheduler/extender/v1; names of fields in any case, as Go reads them.
 * Lies   an answer is an error if it names a node that was not in the request, a victim that is not on the node or has
 *        no lower priority, or has an invalid list. An error of an ignorable extender is ignored; an error of another
 *        extender fails the try.
 * Bounds the transport limits time and bytes of each call; `textMax` limits the text of a refusal.
 * After  k/k pkg/scheduler/extender.go, schedule_one.go (findNodesThatPassExtenders, prioritizeNodes).
 */
import type { Node, Pod } from "#api/gen/types.ts";
import type { Preemption } from "./preemption-candidate.ts";
import type { PodInfo } from "./pod-info.ts";

export interface ExtenderSpec {
  /** Base URL of the extender; also its name in messages. */
  readonly urlPrefix: string;
  /** Undefined: the extender is not asked to filter. */
  readonly filterVerb: string | undefined;
  readonly prioritizeVerb: string | undefined;
  readonly preemptVerb: string | undefined;
  readonly bindVerb: string | undefined;
  readonly weight: number;
  /** Whether the extender has its own node cache, so that it receives node names instead of objects. */
  readonly isNodeCacheCapable: boolean;
  /** Extended resources that the extender manages. Empty: the extender is asked about every Pod. */
  readonly managedResources: readonly { readonly name: string }[];
  readonly isIgnorable: boolean;
}

/** Posts JSON to `urlPrefix/verb`. Rejects past its time or byte limit, and unless the answer is 200 and JSON. */
export type ExtenderPost = (verb: string, body: object, signal: AbortSignal) => Promise<unknown>;

/** Refusal of a node. */
export interface Failure {
  readonly text: string;
  readonly resolvable: boolean;
}

export interface Filtered {
  readonly kept: readonly Node[];
  /** By node name: refusals. */
  readonly failures: ReadonlyMap<string, Failure>;
}

/** Maximum length of a text from an extender, which may appear in events and conditions. */
const textMax = 1_024;
/** Upstream's MaxNodeScore divided by MaxExtenderPriority. */
const scoreScale = 10;

export class Extender {
  readonly spec: ExtenderSpec;
  readonly #post: ExtenderPost;
  readonly #managed: ReadonlySet<string>;

  constructor(spec: ExtenderSpec, post: ExtenderPost) {
    this.spec = spec;
    this.#post = post;
    this.#managed = new Set(spec.managedResources.map(({ name }) => name));
  }

  isInterestedIn({ spec }: Pod): boolean {
    if (this.#managed.size === 0) return true;
    const containers = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
    return containers.some(({ resources }) => {
      const names = [resources?.requests ?? {}, resources?.limits ?? {}].flatMap(Object.keys);
      return names.some((name) => this.#managed.has(name));
    });
  }

  async filter(pod: Pod, nodes: readonly Node[], signal: AbortSignal): Promise<Filtered> {
    const { filterVerb } = this.spec;
    if (filterVerb === undefined) return { kept: nodes, failures: new Map() };
    const answer = await this.#post(filterVerb, this.#argsOf(pod, nodes), signal);
    this.#throwError(answer);
    const failures = new Map<string, Failure>();
    addFailures(failures, fieldOf(answer, "FailedNodes"), true);
    addFailures(failures, fieldOf(answer, "FailedAndUnresolvableNodes"), false);
    return { kept: this.#keptOf(answer, nodes), failures };
  }

  /** Returns the extender's additions to node scores, by node name. */
  async prioritize(
    pod: Pod,
    nodes: readonly Node[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, number>> {
    const scores = new Map<string, number>();
    const { prioritizeVerb, weight } = this.spec;
    if (prioritizeVerb === undefined) return scores;
    const answer = await this.#post(prioritizeVerb, this.#argsOf(pod, nodes), signal);
    for (const one of this.#list(answer, "a list of priorities")) {
      const [host, score] = [fieldOf(one, "Host"), fieldOf(one, "Score") ?? 0];
      if (typeof host !== "string" || !Number.isSafeInteger(score)) {
        throw this.#fault("a host priority is no host and score");
      }
      scores.set(host, (scores.get(host) ?? 0) + Number(score) * weight * scoreScale);
    }
    return scores;
  }

  /** Returns the extender's choice: fewer nodes, or other victims. `podsOn` returns undefined for an unknown node. */
  async preempt(
    info: PodInfo,
    candidates: readonly Preemption[],
    podsOn: (nodeName: string) => readonly PodInfo[] | undefined,
    signal: AbortSignal,
  ): Promise<readonly Preemption[]> {
    const { preemptVerb = "" } = this.spec;
    const body = this.#preemptionArgs(info.pod, candidates);
    const answer = await this.#post(preemptVerb, body, signal);
    const victims = fieldOf(answer, "NodeNameToMetaVictims") ?? {};
    if (typeof victims !== "object") throw this.#fault("its victims are no mapping");
    return Object.entries(victims ?? {}).flatMap(([nodeName, given]) => {
      const pods = podsOn(nodeName);
      if (pods === undefined) throw this.#fault(`node ${nodeName} is not known`);
      const found = this.#victimsOf(info, nodeName, given, pods);
      if (found.victims.length > 0) return [found];
      if (this.spec.isIgnorable) return [];
      throw new Error(`expected at least one victim pod on node "${nodeName}"`);
    });
  }

  async bind({ name, namespace, uid }: PodInfo, nodeName: string): Promise<void> {
    const { bindVerb = "" } = this.spec;
    const body = { PodName: name, PodNamespace: namespace, PodUID: uid, Node: nodeName };
    const answer = await this.#post(bindVerb, body, new AbortController().signal);
    this.#throwError(answer);
  }

  #argsOf(pod: Pod, nodes: readonly Node[]): object {
    if (!this.spec.isNodeCacheCapable) {
      return { Pod: pod, Nodes: { metadata: {}, items: nodes }, NodeNames: null };
    }
    return { Pod: pod, Nodes: null, NodeNames: nodes.map(nameOf) };
  }

  #preemptionArgs(pod: Pod, candidates: readonly Preemption[]): object {
    const isMeta = this.spec.isNodeCacheCapable;
    const entries = candidates.map(({ nodeName, victims, budgetsBroken }) => {
      const pods = victims.map((victim) => (isMeta ? { UID: victim.uid } : victim.pod));
      return [nodeName, { Pods: pods, NumPDBViolations: budgetsBroken }] as const;
    });
    const byNode = Object.fromEntries(entries);
    return {
      Pod: pod,
      NodeNameToVictims: isMeta ? null : byNode,
      NodeNameToMetaVictims: isMeta ? byNode : null,
    };
  }

  #keptOf(answer: unknown, nodes: readonly Node[]): readonly Node[] {
    const { isNodeCacheCapable } = this.spec;
    const named = isNodeCacheCapable ? (fieldOf(answer, "NodeNames") ?? undefined) : undefined;
    const whole = fieldOf(answer, "Nodes") ?? undefined;
    if (named === undefined && whole === undefined) return [];
    const names = named ?? this.#list(fieldOf(whole, "items") ?? [], "a list of nodes").map(nameIn);
    const known = new Map(nodes.map((node) => [nameOf(node), node]));
    const kept = new Set<Node>();
    for (const name of this.#list(names, "a list of node names")) {
      const node = typeof name === "string" ? known.get(name) : undefined;
      if (node === undefined) {
        const shown = String(name).slice(0, textMax);
        throw new Error(
          `extender "${this.spec.urlPrefix}" claims a filtered node "${shown}" which is not found in the input node list`,
        );
      }
      kept.add(node);
    }
    return [...kept];
  }

  #victimsOf(
    info: PodInfo,
    nodeName: string,
    given: unknown,
    pods: readonly PodInfo[],
  ): Preemption {
    const asked = this.#list(fieldOf(given, "Pods") ?? [], "a list of victims");
    const victims = asked.map((one) => {
      const uid = fieldOf(one, "UID");
      const victim = pods.find((pod) => pod.uid === uid);
      const what = `to preempt pod (UID: ${String(uid).slice(0, textMax)}) on node: ${nodeName}`;
      if (victim === undefined) {
        throw this.#fault(`claims ${what}, but the pod is not found on that node`);
      }
      if (victim.priority >= info.priority) {
        throw this.#fault(`claims ${what}, but its priority is not lower`);
      }
      return victim;
    });
    const broken = Number(fieldOf(given, "NumPDBViolations") ?? 0);
    return { nodeName, victims, budgetsBroken: Number.isSafeInteger(broken) ? broken : 0 };
  }

  #list(value: unknown, what: string): readonly unknown[] {
    if (value === null) return [];
    if (Array.isArray(value)) return value;
    throw this.#fault(`it did not answer ${what}`);
  }

  #throwError(answer: unknown): void {
    const error = fieldOf(answer, "Error");
    if (typeof error === "string" && error !== "") throw new Error(error.slice(0, textMax));
  }

  #fault(what: string): Error {
    return new Error(`extender: ${this.spec.urlPrefix} ${what}`);
  }
}

function addFailures(failures: Map<string, Failure>, given: unknown, resolvable: boolean): void {
  if (typeof given !== "object" || given === null) return;
  for (const [name, text] of Object.entries(given)) {
    failures.set(name, { text: String(text).slice(0, textMax), resolvable });
  }
}

function nameOf(node: Node): string {
  return node.metadata?.name ?? "";
}

function nameIn(node: unknown): unknown {
  return fieldOf(fieldOf(node, "metadata"), "name");
}

/** Returns a field by its name in any letter case, as Go's JSON decoder does. */
function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  const fields = value as Readonly<Record<string, unknown>>;
  if (Object.hasOwn(fields, name)) return fields[name];
  const lower = name.toLowerCase();
  const found = Object.keys(fields).find((key) => key.toLowerCase() === lower);
  return found === undefined ? undefined : fields[found];
}
