/**
 * Node lifecycle: detects silent nodes, marks them and their pods, and taints them for eviction at the rate that their
 * zone allows (zones.ts). The taint eviction controller then removes the pods.
 *
 * In    Nodes, their Leases in kube-node-lease, Pods. A node is silent when neither its Lease nor its
 *       Ready heartbeat changed for the grace period (50 s) by the clock of this process (heartbeats.ts).
 * Out   node conditions and taints, the Ready condition of pods on silent nodes.
 * Cost  zones are counted once per round (5 s), over all nodes; only suspect nodes are reconciled.
 */
import type { Node, Pod } from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import { commonIndexes } from "#client/indexer.ts";
import type { Informer } from "#client/informer.ts";
import { KeySource } from "#client/sources.ts";
import type { Timer } from "#platform/clock.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { isGivenUp, namesZone, readinessOf, zoneOf } from "./health.ts";
import { Heartbeats } from "./heartbeats.ts";
import { nodeLifecycleDefaults, type NodeLifecycleOptions } from "./options.ts";
import { NodeControl } from "./node-control.ts";
import { ZonePace } from "./zone-pace.ts";

export const nodeRole: ControllerRole = {
  account: "node-controller",
  rules: [
    "delete,get,list,patch,update,watch | core | nodes",
    "patch,update | core | nodes/status",
    "patch,update | core | pods/status",
    "delete,get,list,watch | core | pods",
    "events",
  ],
};

export class NodeLifecycleController implements ControllerOptions<Node> {
  readonly name = "node-controller";
  readonly workers = 8;
  readonly ref = refs.nodes;
  readonly when = { on: ["add", "update"], changed: hasChanged } as const;
  readonly #suspects = new KeySource();
  readonly sources = [this.#suspects];
  readonly #deps: ControllerDeps;
  readonly #monitorMs: number;
  readonly #nodes: Informer<Node>;
  readonly #pods: Informer<Pod>;
  readonly #heartbeats: Heartbeats;
  readonly #zones: ZonePace;
  readonly #control: NodeControl;

  constructor(deps: ControllerDeps, options: NodeLifecycleOptions = nodeLifecycleDefaults) {
    this.#deps = deps;
    this.#monitorMs = options.monitorMs;
    this.#nodes = deps.informers.informer<Node>(refs.nodes);
    this.#pods = deps.informers.informer<Pod>(refs.pods);
    this.#pods.addIndex("controllers.nodeName", commonIndexes.nodeName);
    this.#heartbeats = new Heartbeats(deps, options);
    this.#zones = new ZonePace(deps, options);
    this.#control = new NodeControl(deps);
    this.#recordNodes();
  }

  /** Looks at all nodes again and again. */
  background(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    this.#zones.look(this.#nodes.values());
    const look = (): Timer =>
      clock.after("controllers.resync", this.#monitorMs, () => {
        // Armed first: a look that throws must not be the last one.
        timer = look();
        this.#lookAtNodes();
      });
    let timer = look();
    return new Promise((resolve) => {
      const end = (): void => {
        timer.cancel();
        resolve();
      };
      if (signal.aborted) end();
      else signal.addEventListener("abort", end, { once: true });
    });
  }

  #recordNodes(): void {
    this.#nodes.addHandler({
      add: (node) =>
        this.#record(node, "RegisteredNode", `Registered Node ${nameOf(node)} in Controller`),
      delete: (node) => {
        this.#record(node, "RemovingNode", `Removing Node ${nameOf(node)} from Controller`);
        this.#heartbeats.forget(nameOf(node));
      },
    });
  }

  #record(node: Node, reason: string, text: string): void {
    this.#deps.recorder.event(node, "Normal", reason, `Node ${nameOf(node)} event: ${text}`);
  }

  /** Checks every node cheaply; only suspects are reconciled. */
  #lookAtNodes(): void {
    if (this.#zones.look(this.#nodes.values())) {
      // Called when heartbeats arrive again.
      this.#heartbeats.restart();
      this.#zones.restart();
    }
    for (const node of this.#nodes.values())
      if (this.#isSuspect(node)) this.#suspects.add(nameOf(node));
  }

  #isSuspect(node: Node): boolean {
    return this.#heartbeats.isSilent(node) || readinessOf(node) !== "ready" || isGivenUp(node);
  }

  async reconcile({ key: name, object: node }: ReconcileRequest<Node>): Promise<void> {
    if (node === undefined) return;
    const isSilent = this.#heartbeats.isSilent(node);
    const current = isSilent ? await this.#control.markSilent(node) : node;
    if (current === undefined) return;
    if (readinessOf(current) === "unknown")
      await this.#control.markPods(this.#pods.byIndex("controllers.nodeName", name));
    const key = this.#zones.takeEvictionKey(current);
    await this.#control.writeTaints(current, key);
    if (key !== undefined && !isGivenUp(current))
      this.#deps.metrics?.nodeGivenUp(namesZone(current) ? zoneOf(current) : "");
  }
}

function nameOf(node: Node): string {
  return node.metadata?.name ?? "";
}

/** Whether the spec or the status of a condition has changed; heartbeats do not count. */
function hasChanged(old: Node, node: Node): boolean {
  const view = ({ spec, status }: Node): unknown => [
    spec,
    status?.conditions?.map((condition) => [condition.type, condition.status]),
  ];
  return !jsonEqual(view(old), view(node));
}
