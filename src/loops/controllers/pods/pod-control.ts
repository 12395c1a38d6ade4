/**
 * Creates and deletes pods for a controller, with upstream's events. Like client-go's PodControl,
 * together with the expectations that its callers keep.
 *
 * Safe  a deletion is expected before it is sent, and names the uid; a created pod is expected at once.
 */
import type { Pod } from "#api/gen/types.ts";
import type { KubeObject } from "#api/object.ts";
import type { Client } from "#client/client.ts";
import type { EventRecorder } from "#client/events.ts";
import { isGone, isNamespaceGoing, textOf } from "../framework/api-errors.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import type { Expectations } from "#client/expectations.ts";
import { refs } from "../framework/refs.ts";
import { slowStart } from "../framework/slow-start.ts";

/** The owner of the pods, and its key in the expectations. */
export interface PodOwner<T extends KubeObject = KubeObject> {
  readonly key: string;
  readonly object: T;
}

/** `succeeded`: number of pods created; `error`: the first relevant one, if any. */
interface CreateResult {
  readonly succeeded: number;
  readonly error: unknown;
}

export class PodControl {
  readonly #client: Client;
  readonly #recorder: EventRecorder;
  readonly #expectations: Expectations<Pod>;

  constructor(deps: Pick<ControllerDeps, "client" | "recorder">, expectations: Expectations<Pod>) {
    this.#client = deps.client;
    this.#recorder = deps.recorder;
    this.#expectations = expectations;
  }

  /**
   * Creates pods in slow-start batches. A refusal by a terminating namespace is not an error: the
   * owner is deleted with its namespace.
   */
  async createPods(owner: PodOwner, pods: readonly Pod[]): Promise<CreateResult> {
    const create = (pod: Pod): Promise<void> => this.#createPod(owner, pod);
    const { succeeded, error } = await slowStart(pods, create);
    if (error === undefined || isNamespaceGoing(error)) return { succeeded, error: undefined };
    const text = `Error creating: ${textOf(error)}`;
    this.#recorder.event(owner.object, "Warning", "FailedCreate", text);
    return { succeeded, error };
  }

  async #createPod({ key, object }: PodOwner, pod: Pod): Promise<void> {
    const made = await this.#client.create<Pod>(refs.pods, object.metadata?.namespace ?? "", pod);
    this.#expectations.expectWrite(key, made);
    const text = `Created pod: ${made.metadata?.name ?? ""}`;
    this.#recorder.event(object, "Normal", "SuccessfulCreate", text);
  }

  /** Throws unless the pod was deleted or already gone. */
  async deletePod({ key, object }: PodOwner, pod: Pod): Promise<void> {
    const { namespace = "", name = "", uid = "" } = pod.metadata ?? {};
    this.#expectations.expectDeletion(key, pod);
    try {
      await this.#client.delete(refs.pods, namespace, name, { preconditions: { uid } });
      this.#recorder.event(object, "Normal", "SuccessfulDelete", `Deleted pod: ${name}`);
    } catch (error) {
      this.#expectations.cancelDeletion(key, pod);
      if (!isGone(error)) throw error;
    }
  }
}
