/**
 * Node lifecycle: notices silent nodes, marks them and their pods, and gives them up at the pace their
 * zone allows (zones.ts). The taint eviction controller then removes the pods.
 *
 * In    Nodes, their Leases in kube-node-lease, Pods. A node is silent when neither its Lease nor its
 *       Ready heartbeat changed for 50 s by the clock of this process (heartbeats.ts).
 * Out   node conditions and taints, the Ready condition of pods on silent nodes.
 * Cost  zones are counted once per look (5 s), over all nodes; only suspects are reconciled.
 */
import type { Node, Pod } from "#api/gen/types.ts";
import type { EventRecorder } from "#client/events.ts";
import type { Informer } from "#client/informer.ts";
import type { InformerSet } from "#client/informer-set.ts";
import { commonIndexes } from "#client/indexer.ts";
import type { WorkQueueMetrics } from "#client/workqueue.ts";
import type { Clock, Timer } from "#platform/clock.ts";
import {
  queueController,
  type Controller,
  type ControllerDeps,
  type QueueController,
} from "../framework/controller.ts";
import { jsonEqual } from "#api/json-value.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { isGivenUp, readinessOf } from "./health.ts";
import { Heartbeats } from "./heartbeats.ts";
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

const workers = 8;
const everyMs = 5_000;

export class NodeLifecycleController implements Controller {
  readonly name = "node-controller";
  readonly #clock: Clock;
  readonly #informers: InformerSet;
  readonly #recorder: EventRecorder;
  readonly #nodes: Informer<Node>;
  readonly #pods: Informer<Pod>;
  readonly #heartbeats: Heartbeats;
  readonly #zones: ZonePace;
  readonly #control: NodeControl;
  readonly #loop: QueueController;

  constructor(deps: ControllerDeps) {
    const { name } = this;
    this.#clock = deps.clock;
    this.#informers = deps.informers;
    this.#recorder = deps.recorder;
    this.#nodes = deps.informers.informer<Node>(refs.nodes);
    this.#pods = deps.informers.informer<Pod>(refs.pods);
    this.#pods.addIndex("controllers.nodeName", commonIndexes.nodeName);
    this.#heartbeats = new Heartbeats(deps);
    this.#zones = new ZonePace(deps);
    this.#control = new NodeControl(deps);
    this.#loop = queueController(deps, { name, workers }, (key) => this.#reconcile(key));
    this.#addHandlers();
  }

  metrics(): WorkQueueMetrics {
    return this.#loop.metrics();
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#informers.synced(signal);
    this.#zones.look(this.#nodes.values());
    let timer: Timer;
    const tick = (): void => {
      // Armed first: a look that throws must not be the last one.
      timer = this.#clock.after("controllers.resync", everyMs, tick);
      this.#lookAtNodes();
    };
    timer = this.#clock.after("controllers.resync", everyMs, tick);
    try {
      await this.#loop.run(signal);
    } finally {
      // Also when the loop fails: its next run looks for itself.
      timer.cancel();
    }
  }

  #addHandlers(): void {
    const { queue } = this.#loop;
    this.#nodes.addHandler({
      add: (node) => {
        const name = nameOf(node);
        this.#record(node, "RegisteredNode", `Registered Node ${name} in Controller`);
        queue.add(name);
      },
      update: (old, node) => {
        if (hasChanged(old, node)) queue.add(nameOf(node));
      },
      delete: (node) => {
        const name = nameOf(node);
        this.#record(node, "RemovingNode", `Removing Node ${name} from Controller`);
        this.#heartbeats.forget(name);
      },
    });
  }

  #record(node: Node, reason: string, text: string): void {
    this.#recorder.event(node, "Normal", reason, `Node ${nameOf(node)} event: ${text}`);
  }

  /** A cheap look at every node; only suspects are reconciled. */
  #lookAtNodes(): void {
    if (this.#zones.look(this.#nodes.values())) {
      // Heartbeats arrive again.
      this.#heartbeats.restart();
      this.#zones.restart();
    }
    for (const node of this.#nodes.values())
      if (this.#isSuspect(node)) this.#loop.queue.add(nameOf(node));
  }

  #isSuspect(node: Node): boolean {
    return this.#heartbeats.isSilent(node) || readinessOf(node) !== "ready" || isGivenUp(node);
  }

  async #reconcile(name: string): Promise<void> {
    const node = this.#nodes.get("", name);
    if (node === undefined) return;
    const isSilent = this.#heartbeats.isSilent(node);
    const current = isSilent ? await this.#control.markSilent(node) : node;
    if (current === undefined) return;
    if (readinessOf(current) === "unknown")
      await this.#control.markPods(this.#pods.byIndex("controllers.nodeName", name));
    await this.#control.writeTaints(current, this.#zones.takeEvictionKey(current));
  }
}

function nameOf(node: Node): string {
  return node.metadata?.name ?? "";
}

/** The spec, or the status of some condition; heartbeats do not count. */
function hasChanged(old: Node, node: Node): boolean {
  const view = ({ spec, status }: Node): unknown => [
    spec,
    status?.conditions?.map((condition) => [condition.type, condition.status]),
  ];
  return !jsonEqual(view(old), view(node));
}
