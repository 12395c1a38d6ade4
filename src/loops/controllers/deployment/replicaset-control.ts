/**
 * Carries out a Deployment's plan: creates, patches and deletes ReplicaSets, with events.
 *
 * Safe  each write is expected, so that the next reconcile waits until the cache shows it; patches and
 *       deletes name the uid.
 */
import type { ReplicaSet } from "#api/gen/types.ts";
import { ApiError } from "#api/status.ts";
import type { Client } from "#client/client.ts";
import type { EventRecorder } from "#client/events.ts";
import { ignoreGone, isNamespaceGoing, textOf } from "../framework/api-errors.ts";
import { findCondition } from "#client/conditions.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import type { Expectations } from "#client/expectations.ts";
import { refs } from "../framework/refs.ts";
import { controllerOf } from "#client/owner.ts";
import type { Rollout, Step } from "./plan.ts";
import { setProgressing, type Progress } from "./progress.ts";
import { makeReplicaSet, planRefresh, planScale, type SetPatch } from "./replicaset.ts";
import { revisionAnnotation, revisionOf, sameTemplate } from "./revision.ts";
import { beyondHistory, specReplicas, type Scale } from "./sizes.ts";

export class ReplicaSetControl {
  readonly #client: Client;
  readonly #recorder: EventRecorder;
  readonly #expectations: Expectations<ReplicaSet>;

  constructor(deps: ControllerDeps, expectations: Expectations<ReplicaSet>) {
    this.#client = deps.client;
    this.#recorder = deps.recorder;
    this.#expectations = expectations;
  }

  /** Creates or refreshes the ReplicaSet of the current template, as the step requires. */
  async applyNewest(rollout: Rollout, step: Step, progress: Progress): Promise<Progress> {
    if (step.newest === "leave") return progress;
    if (rollout.newest !== undefined) return this.#refresh(rollout, rollout.newest, progress);
    return step.newest === "ensure" ? this.#create(rollout, progress) : progress;
  }

  async applyScales(
    rollout: Rollout,
    scales: readonly Scale[],
    progress: Progress,
  ): Promise<Progress> {
    let { newest } = progress;
    for (const scale of scales) {
      const written = await this.#scale(rollout, scale);
      if (written !== undefined && isSameObject(written, newest)) newest = written;
    }
    return { ...progress, newest };
  }

  /** Deletes old ReplicaSets beyond the history limit. */
  async cleanUp({ deployment, olds }: Rollout): Promise<void> {
    for (const rs of beyondHistory(deployment, olds, revisionOf)) {
      const { namespace = "", name = "", uid = "" } = rs.metadata ?? {};
      const options = { preconditions: { uid } };
      await this.#client.delete(refs.replicasets, namespace, name, options).catch(ignoreGone);
    }
  }

  async #refresh(rollout: Rollout, cached: ReplicaSet, progress: Progress): Promise<Progress> {
    const { annotations, patch } = planRefresh(rollout, cached);
    const newest = patch === undefined ? cached : await this.#patch(rollout, cached, patch);
    const revision = annotations[revisionAnnotation];
    if (findCondition(progress.conditions, "Progressing") !== undefined)
      return { ...progress, newest, revision };
    const text = `Found new replica set "${newest.metadata?.name ?? ""}"`;
    const found = ["True", "FoundNewReplicaSet", text] as const;
    const conditions = setProgressing(rollout, progress.conditions, found);
    return { ...progress, newest, revision, conditions };
  }

  async #create(rollout: Rollout, progress: Progress): Promise<Progress> {
    const wanted = makeReplicaSet(rollout, progress.collisionCount);
    const { name = "", namespace = "" } = wanted.metadata ?? {};
    try {
      const made = await this.#client.create<ReplicaSet>(refs.replicasets, namespace, wanted);
      this.#expectations.expectWrite(rollout.key, made);
      return this.#noteCreated(rollout, made, progress);
    } catch (error) {
      if (error instanceof ApiError && error.reason === "AlreadyExists")
        return this.#resolveExisting(rollout, name, { ...progress, error });
      return this.#noteFailed(rollout, name, { ...progress, error });
    }
  }

  #noteCreated(rollout: Rollout, newest: ReplicaSet, progress: Progress): Progress {
    const name = newest.metadata?.name ?? "";
    const size = specReplicas(newest);
    if (size > 0) this.#noteScaled(rollout, `Scaled up replica set ${name} from 0 to ${size}`);
    const text = `Created new replica set "${name}"`;
    const created = ["True", "NewReplicaSetCreated", text] as const;
    const conditions = setProgressing(rollout, progress.conditions, created);
    const revision = newest.metadata?.annotations?.[revisionAnnotation];
    return { ...progress, newest, conditions, revision };
  }

  #noteFailed(rollout: Rollout, name: string, progress: Progress): Progress {
    const { error } = progress;
    // A terminating namespace accepts no new objects, so nothing is reported.
    if (isNamespaceGoing(error)) throw error;
    const text = `Failed to create new replica set "${name}": ${textOf(error)}`;
    this.#recorder.event(rollout.deployment, "Warning", "ReplicaSetCreateError", text);
    const failed = ["False", "ReplicaSetCreateError", text] as const;
    return { ...progress, conditions: setProgressing(rollout, progress.conditions, failed) };
  }

  /**
   * Resolves a name conflict. Either an earlier create of ours lost its answer, and the existing ReplicaSet is used; or
   * two templates have the same hash, and the collision count changes the next name.
   */
  async #resolveExisting(rollout: Rollout, name: string, progress: Progress): Promise<Progress> {
    const { metadata, spec } = rollout.deployment;
    const namespace = metadata?.namespace ?? "";
    const existing = await this.#client.get<ReplicaSet>(refs.replicasets, namespace, name);
    const isOurs = controllerOf(existing)?.uid === metadata?.uid;
    if (!isOurs || !sameTemplate(existing.spec?.template, spec?.template))
      return { ...progress, collisionCount: (progress.collisionCount ?? 0) + 1 };
    this.#expectations.expectWrite(rollout.key, existing);
    const revision = existing.metadata?.annotations?.[revisionAnnotation];
    return { ...progress, newest: existing, revision, error: undefined };
  }

  /** @returns the written ReplicaSet; undefined: no change was necessary. */
  async #scale(rollout: Rollout, scale: Scale): Promise<ReplicaSet | undefined> {
    const { replicaSet, replicas } = scale;
    const patch = planScale(rollout.deployment, scale);
    if (patch === undefined) return undefined;
    const written = await this.#patch(rollout, replicaSet, patch);
    const before = specReplicas(replicaSet);
    if (before === replicas) return written;
    const way = before < replicas ? "up" : "down";
    const name = replicaSet.metadata?.name ?? "";
    this.#noteScaled(rollout, `Scaled ${way} replica set ${name} from ${before} to ${replicas}`);
    return written;
  }

  #noteScaled({ deployment }: Rollout, text: string): void {
    this.#recorder.event(deployment, "Normal", "ScalingReplicaSet", text);
  }

  /** A merge patch that applies only to the ReplicaSet with this uid. */
  async #patch(rollout: Rollout, replicaSet: ReplicaSet, change: SetPatch): Promise<ReplicaSet> {
    const { namespace = "", name = "", uid } = replicaSet.metadata ?? {};
    const patch = { ...change, metadata: { ...change.metadata, uid } };
    const ref = refs.replicasets;
    const written = await this.#client.patch<ReplicaSet>(ref, namespace, name, "merge", patch);
    this.#expectations.expectWrite(rollout.key, written);
    return written;
  }
}

function isSameObject(a: ReplicaSet, b: ReplicaSet | undefined): boolean {
  return a.metadata?.uid === b?.metadata?.uid;
}
