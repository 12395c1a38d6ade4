/** The writes of the node lifecycle controller: node conditions and taints, the readiness of pods. */
import type { Node, Pod } from "#api/gen/types.ts";
import { formatTime } from "#api/values/time.ts";
import type { Client } from "#client/client.ts";
import type { EventRecorder } from "#client/events.ts";
import { isNotFound } from "#client/api-errors.ts";
import type { Clock } from "#platform/clock.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { refs } from "../framework/refs.ts";
import { podCondition } from "../pods/pod.ts";
import { planTaints, readinessOf, silentConditions } from "./health.ts";

const status = { subresource: "status" };

export class NodeControl {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #recorder: EventRecorder;

  constructor({ client, clock, recorder }: Pick<ControllerDeps, "client" | "clock" | "recorder">) {
    this.#client = client;
    this.#clock = clock;
    this.#recorder = recorder;
  }

  /** @returns the node with the conditions of a silent node; undefined: it was deleted. */
  async markSilent(node: Node): Promise<Node | undefined> {
    const conditions = silentConditions(node, this.#now());
    if (jsonEqual(conditions, node.status?.conditions)) return node;
    if (readinessOf(node) === "ready") {
      const text = `Node ${node.metadata?.name ?? ""} status is now: NodeNotReady`;
      this.#recorder.event(node, "Normal", "NodeNotReady", text);
    }
    const next: Node = { ...node, status: { ...node.status, conditions } };
    return this.#client.update<Node>(refs.nodes, "", next, status).catch(ignoreMissing);
  }

  /** Marks the pods of a silent node as not ready. */
  async markPods(pods: readonly Pod[]): Promise<void> {
    const lastTransitionTime = this.#now();
    for (const pod of pods) {
      if (podCondition(pod, "Ready")?.status !== "True") continue;
      this.#recorder.event(pod, "Warning", "NodeNotReady", "Node is not ready");
      const { namespace = "", name = "", uid } = pod.metadata ?? {};
      const conditions = [{ type: "Ready", status: "False", lastTransitionTime }];
      const patch = { metadata: { uid }, status: { conditions } };
      await this.#client
        .patch(refs.pods, namespace, name, "strategic", patch, status)
        .catch(ignoreMissing);
    }
  }

  /** `evictionKey`: key of the NoExecute taint that the node should have, if any. */
  async writeTaints(node: Node, evictionKey: string | undefined): Promise<void> {
    const taints = planTaints(node, evictionKey, this.#now());
    if (jsonEqual(taints, node.spec?.taints ?? [])) return;
    const { resourceVersion, name = "" } = node.metadata ?? {};
    const spec = { taints: taints.length === 0 ? null : taints };
    const patch = { metadata: { resourceVersion }, spec };
    await this.#client.patch(refs.nodes, "", name, "merge", patch).catch(ignoreMissing);
  }

  #now(): string {
    return formatTime(this.#clock.nowMs());
  }
}

function ignoreMissing(error: unknown): undefined {
  if (isNotFound(error)) return undefined;
  throw error;
}
