/**
 * Resource claims: creates them from templates for their Pods, reserves them for Pods that were bound without the
 * scheduler, and releases them when no Pod uses them any more.
 *
 *   pod:KEY    claims from templates ─► pod.status.resourceClaimStatuses ─► reserved, once the Pod has a node
 *   claim:KEY  reservations of Pods that are gone or done are dropped ─► the last one frees the devices ─► a
 *              generated claim of a Pod that is done is deleted
 *
 * Safe   a claim is freed only when neither the cache nor the server has a Pod that it is reserved for.
 * Bounds 500 uids of Pods that were seen deleted, which saves a request to the server.
 * After  k/k pkg/controller/resourceclaim/controller.go. DRAWorkloadResourceClaims is off in 1.36: no PodGroups.
 */
import type {
  Pod,
  PodResourceClaim,
  PodResourceClaimStatus,
  ResourceClaim,
  ResourceClaimTemplate,
} from "#api/gen/types.ts";
import { claimOf, isReservedFor, usesClaims } from "#api/pods/resource-claims.ts";
import { must } from "#base/assert.ts";
import type { KeyOptions, KeyRequest } from "#client/create-controller.ts";
import { Expectations, unsatisfied } from "#client/expectations.ts";
import { keyOf } from "#client/indexer.ts";
import type { Informer } from "#client/informer.ts";
import { controllerOf } from "#client/owner.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { watch, type Source } from "#client/sources.ts";
import { textOf } from "../framework/api-errors.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import {
  claimKeysOf,
  generatedClaim,
  isDone,
  notOwned,
  podClaimAnnotation,
  templateKeysOf,
} from "./pod-claims.ts";
import { Reservations } from "./reservations.ts";

export const resourceClaimRole: ControllerRole = {
  account: "resource-claim-controller",
  rules: [
    "read | core | pods",
    "update | core | pods/finalizers",
    "create,delete,get,list,watch | resource.k8s.io | resourceclaims",
    "patch,update | resource.k8s.io | resourceclaims,resourceclaims/status",
    "patch,update | core | pods/status",
    "events",
    "patch,update | resource.k8s.io | resourceclaims/binding",
  ],
};

const claimIndex = "resourceclaim.claim";
const templateIndex = "resourceclaim.template";
const ownerIndex = "resourceclaim.owner";
/** Upstream's name. */
const fieldManager = "ResourceClaimController";

export class ResourceClaimController implements KeyOptions {
  readonly name = "resourceclaim-controller";
  readonly workers = 50;
  readonly sources: readonly Source[];
  readonly #deps: ControllerDeps;
  readonly #pods: Informer<Pod>;
  readonly #claims: Informer<ResourceClaim>;
  readonly #templates: Informer<ResourceClaimTemplate>;
  readonly #reservations: Reservations;
  /** Created claims, by Pod key. */
  readonly #made: Expectations<ResourceClaim>;

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    const { informers } = deps;
    this.#pods = informers.informer<Pod>(refs.pods);
    this.#claims = informers.informer<ResourceClaim>(refs.resourceclaims);
    this.#templates = informers.informer<ResourceClaimTemplate>(refs.resourceclaimtemplates);
    this.#pods.addIndex(claimIndex, claimKeysOf);
    this.#pods.addIndex(templateIndex, templateKeysOf);
    this.#claims.addIndex(ownerIndex, ownerUids);
    this.#reservations = new Reservations(deps, this.#pods);
    this.#made = new Expectations(this.#claims, deps.clock);
    this.sources = this.#sources();
  }

  #sources(): readonly Source[] {
    const only = usedClaims;
    const podsOf = (index: string) => (object: ResourceClaim | ResourceClaimTemplate) =>
      this.#pods.byIndex(index, keyOf(object)).flatMap((pod) => this.#keysOfPod(pod));
    const usersOf = podsOf(claimIndex);
    return [
      watch(this.#pods, (pod) => this.#keysOfPod(pod), { on: ["add", "update"], only }),
      watch(this.#pods, (pod) => this.#keysOfGone(pod), { on: ["delete"], only }),
      watch(this.#claims, (claim) => [`claim:${keyOf(claim)}`, ...usersOf(claim)], {
        on: ["add", "update"],
      }),
      watch(this.#claims, usersOf, { on: ["delete"] }),
      watch(this.#templates, podsOf(templateIndex), { on: ["add", "update"] }),
    ];
  }

  async reconcile({ key }: KeyRequest): Promise<ReconcileResult> {
    const at = key.indexOf(":");
    const [kind, object] = [key.slice(0, at), key.slice(at + 1)];
    if (kind === "pod") return this.#syncPod(object);
    const claim = this.#claims.getByKey(object);
    if (claim !== undefined) await this.#reservations.sync(claim);
    return undefined;
  }

  #keysOfGone(pod: Pod): readonly string[] {
    this.#reservations.noteGone(pod);
    this.#made.forget(keyOf(pod));
    return keysOfUsed(pod);
  }

  #keysOfPod(pod: Pod): readonly string[] {
    const keys = isDone(pod) ? keysOfUsed(pod) : [];
    return this.#needsWork(pod) ? [...keys, `pod:${keyOf(pod)}`] : keys;
  }

  #needsWork(pod: Pod): boolean {
    if (pod.metadata?.deletionTimestamp !== undefined || isDone(pod)) return false;
    return (pod.spec?.resourceClaims ?? []).some((entry) => this.#entryNeedsWork(pod, entry));
  }

  #entryNeedsWork(pod: Pod, entry: PodResourceClaim): boolean {
    const named = claimOf(pod, entry);
    if (named.kind === "unneeded") return false;
    if (named.kind !== "named") return true;
    const claim = this.#claims.get(pod.metadata?.namespace ?? "", named.name);
    if (claim === undefined) return named.isGenerated;
    if (named.isGenerated && notOwned(pod, claim) !== undefined) return false;
    return needsReservation(pod, claim);
  }

  async #syncPod(key: string): Promise<ReconcileResult> {
    const pod = this.#pods.getByKey(key);
    // A finished Pod must not get back what was released for it.
    if (pod === undefined || isDone(pod)) return this.#made.forget(key);
    if (pod.metadata?.deletionTimestamp !== undefined) return undefined;
    if (!this.#made.isSatisfied(key)) return unsatisfied;
    const statuses = await this.#ensureClaims(key, pod);
    if (statuses !== undefined) await this.#writeStatuses(pod, statuses);
    // Before the Pod is bound, the scheduler reserves.
    if ((pod.spec?.nodeName ?? "") !== "") await this.#reserve(pod);
    return undefined;
  }

  /** @returns the entries for the Pod's status; undefined: the status is up to date. */
  async #ensureClaims(
    key: string,
    pod: Pod,
  ): Promise<readonly PodResourceClaimStatus[] | undefined> {
    const statuses: PodResourceClaimStatus[] = [];
    let hasNew = false;
    for (const entry of pod.spec?.resourceClaims ?? []) {
      const found = await this.#ensureOrTell(key, pod, entry);
      if (found === undefined) continue;
      hasNew ||= found.isNew;
      statuses.push({ name: entry.name, resourceClaimName: found.name });
    }
    return hasNew ? statuses : undefined;
  }

  async #ensureOrTell(key: string, pod: Pod, entry: PodResourceClaim) {
    try {
      return await this.#ensureClaim(key, pod, entry);
    } catch (error) {
      const text = `PodResourceClaim ${entry.name}: ${textOf(error)}`;
      this.#deps.recorder.event(pod, "Warning", "FailedResourceClaimCreation", text);
      throw new Error(`pod ${key}, ${text}`, { cause: error });
    }
  }

  /** The claim for a template entry, created if necessary; undefined: the entry needs none. */
  async #ensureClaim(key: string, pod: Pod, entry: PodResourceClaim) {
    const named = claimOf(pod, entry);
    if (named.kind === "unsupported") {
      throw new Error(`checking for claim before creating it: ${named.message}`);
    }
    if (named.kind === "unneeded" || entry.resourceClaimTemplateName === undefined)
      return undefined;
    if (named.kind === "named") {
      const claim = this.#claims.get(pod.metadata?.namespace ?? "", named.name);
      const isOwn = claim !== undefined && notOwned(pod, claim) === undefined;
      if (isOwn) return { name: named.name, isNew: false };
    }
    const known = this.#madeFor(pod, entry.name);
    const claim = known ?? (await this.#create(key, pod, entry));
    return { name: must(claim.metadata?.name, "a stored claim has a name"), isNew: true };
  }

  #madeFor(pod: Pod, entryName: string): ResourceClaim | undefined {
    const own = this.#claims.byIndex(ownerIndex, pod.metadata?.uid ?? "");
    return own.find((claim) => claim.metadata?.annotations?.[podClaimAnnotation] === entryName);
  }

  async #create(key: string, pod: Pod, entry: PodResourceClaim): Promise<ResourceClaim> {
    const namespace = pod.metadata?.namespace ?? "";
    const name = entry.resourceClaimTemplateName ?? "";
    const template = this.#templates.get(namespace, name);
    if (template === undefined) {
      throw new Error(
        `resource claim template "${name}": resourceclaimtemplate.resource.k8s.io "${name}" not found`,
      );
    }
    const claim = generatedClaim(pod, entry.name, template);
    try {
      const made = await this.#deps.client.create(refs.resourceclaims, namespace, claim);
      this.#deps.metrics?.resourceClaimCreated("success", claim);
      this.#made.expectWrite(key, made);
      return made;
    } catch (error) {
      this.#deps.metrics?.resourceClaimCreated("failure", claim);
      throw new Error(`create ResourceClaim : ${textOf(error)}`, { cause: error });
    }
  }

  /** Writes all entries together, because an apply removes entries of the manager that are missing in it. */
  async #writeStatuses(pod: Pod, statuses: readonly PodResourceClaimStatus[]): Promise<void> {
    const { namespace = "", name = "" } = pod.metadata ?? {};
    const applied = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { namespace, name },
      status: { resourceClaimStatuses: statuses },
    };
    const options = { subresource: "status", fieldManager, force: true };
    try {
      await this.#deps.client.patch(refs.pods, namespace, name, "apply", applied, options);
    } catch (error) {
      const text = `update pod ${namespace}/${name} ResourceClaimStatuses: ${textOf(error)}`;
      throw new Error(text, { cause: error });
    }
  }

  /** Reserves for a Pod that was bound without the scheduler. */
  async #reserve(pod: Pod): Promise<void> {
    for (const entry of pod.spec?.resourceClaims ?? []) {
      const named = claimOf(pod, entry);
      if (named.kind !== "named") continue;
      const claim = this.#claims.get(pod.metadata?.namespace ?? "", named.name);
      if (claim === undefined) return;
      const refusal = named.isGenerated ? notOwned(pod, claim) : undefined;
      if (refusal !== undefined) throw new Error(refusal);
      if (needsReservation(pod, claim)) await this.#reservations.add(claim, pod);
    }
  }
}

/** Whether the Pod names a claim, or one was created for its extended resources. */
function usedClaims(pod: Pod): boolean {
  return usesClaims(pod) || pod.status?.extendedResourceClaimStatus !== undefined;
}

/** Keys of all claims that the Pod may have used. */
function keysOfUsed(pod: Pod): readonly string[] {
  const keys = claimKeysOf(pod).map((key) => `claim:${key}`);
  const extended = pod.status?.extendedResourceClaimStatus?.resourceClaimName;
  if (extended === undefined) return keys;
  return [...keys, `claim:${pod.metadata?.namespace ?? ""}/${extended}`];
}

function needsReservation(pod: Pod, claim: ResourceClaim): boolean {
  if ((pod.spec?.nodeName ?? "") === "") return false;
  return claim.status?.allocation !== undefined && !isReservedFor(pod, claim);
}

function ownerUids(claim: ResourceClaim): readonly string[] {
  const owner = controllerOf(claim);
  return owner?.apiVersion === "v1" && owner.kind === "Pod" ? [owner.uid] : [];
}
