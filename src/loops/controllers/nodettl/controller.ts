/**
 * Sets an annotation on each node that says how long kubelets may cache Secrets and ConfigMaps, depending on the size
 * of the cluster (upstream's ttl-controller).
 *
 * Holds  the time does not flap between two similar sizes: each step starts above the end of the previous one.
 * Cost   a new step is written to a node at its kubelet's next write, not to all nodes at once.
 */
import type { Node } from "#api/gen/types.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import type { Informer } from "#client/informer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { ignoreGone } from "../framework/api-errors.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { nextStep, secondsOf } from "./steps.ts";

export const nodeTtlRole: ControllerRole = {
  account: "ttl-controller",
  rules: ["list,patch,update,watch | core | nodes", "events"],
};

const annotation = "node.alpha.kubernetes.io/ttl";

export class NodeTtlController implements ControllerOptions<Node> {
  readonly name = "ttl-controller";
  readonly workers = 5;
  readonly ref = refs.nodes;
  readonly when = { on: ["add", "update"] } as const;
  readonly #deps: ControllerDeps;
  readonly #nodes: Informer<Node>;
  #step = 0;

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    this.#nodes = deps.informers.informer<Node>(refs.nodes);
  }

  async reconcile({ object: node }: ReconcileRequest<Node>): Promise<ReconcileResult> {
    if (node === undefined) return;
    this.#step = nextStep(this.#step, this.#nodes.size);
    const seconds = String(secondsOf(this.#step));
    const { name = "", annotations } = node.metadata ?? {};
    if (annotations?.[annotation] === seconds) return;
    const patch = { metadata: { annotations: { [annotation]: seconds } } };
    await this.#deps.client.patch(refs.nodes, "", name, "strategic", patch).catch(ignoreGone);
  }
}
