/** Common steps of both types of webhooks before a call: which webhooks match the request. */
import type { AdmissionRequest } from "#admission/admission.ts";
import type { Lister } from "#api/lister.ts";
import type { AnyObject } from "#api/object.ts";
import { ApiError, forbidden, internalError } from "#api/status.ts";
import type { Catalog } from "#apiserver/kind.ts";
import type { CompiledConditions } from "../matching/conditions.ts";
import type { Candidate, RuleIndex } from "../matching/rule-index.ts";
import { isExempt } from "../matching/rules.ts";
import { namespaceSelected, objectSelected } from "../matching/selectors.ts";
import type { AskDeps } from "./ask.ts";
import type { Hook, HookSource } from "./hook.ts";
import { type ObjectView, objectView } from "./object-view.ts";
import { withScaleManagers } from "./scale-managers.ts";
import { reviewFields, reviewTail, type ViewedObjects } from "./review.ts";

export interface WebhookDeps extends AskDeps {
  readonly lookup: Lister;
  readonly catalog: Pick<Catalog, "find">;
}

const none: readonly Candidate<Hook>[] = [];

/** Returns the webhooks whose rules match. Empty for most requests. */
export function candidatesOf(
  source: HookSource,
  request: AdmissionRequest,
): readonly Candidate<Hook>[] {
  const hooks: RuleIndex<Hook> = source.hooks();
  if (hooks.isEmpty || isExempt(request)) return none;
  return hooks.candidates(request);
}

/**
 * Whether selectors and conditions match, too. The result is synchronous when there are no conditions. @throws ApiError
 * 404 for an unknown namespace, 403 for a failed condition.
 */
export function isCalled(
  { lookup }: WebhookDeps,
  request: AdmissionRequest,
  candidate: Candidate<Hook>,
  objects: () => Promise<ViewedObjects>,
): boolean | Promise<boolean> {
  const hook = candidate.entry;
  // An unselected object is not subject to the webhook, even if its namespace cannot be found.
  if (!objectSelected(hook.objects, request)) return false;
  if (!namespaceSelected(hook.namespaces, request, lookup)) return false;
  if (hook.conditions === undefined) return true;
  return areMet(hook.conditions, request, candidate, objects);
}

async function areMet(
  conditions: CompiledConditions,
  request: AdmissionRequest,
  candidate: Candidate<Hook>,
  objects: () => Promise<ViewedObjects>,
): Promise<boolean> {
  const fields = reviewFields(request, candidate);
  const result = await conditions.evaluate({
    ...(await objects()),
    request: fields,
    user: request.user,
  });
  if (result.kind !== "error") return result.kind === "match";
  if (candidate.entry.failsOpen) return false;
  const { group, resource } = request.info;
  throw forbidden({ group, resource }, request.name, result.message);
}

/** Objects of one request in one version, as data and as bytes. Each is made once, on first use. */
class VersionedObjects {
  readonly #view: ObjectView;
  /** Path of the replicas, if webhooks see their field managers: for a mutating webhook of a scale. */
  readonly #managedReplicas: readonly string[] | undefined;
  readonly #request: AdmissionRequest;
  readonly #candidate: Candidate<Hook>;
  #objects: Promise<ViewedObjects> | undefined;
  #tail: Promise<Uint8Array> | undefined;

  constructor(
    catalog: Pick<Catalog, "find">,
    request: AdmissionRequest,
    candidate: Candidate<Hook>,
  ) {
    const { info, kind } = candidate;
    this.#view = objectView(catalog, info, kind, request.subresource);
    this.#request = request;
    this.#candidate = candidate;
    if (request.subresource !== "scale" || request.reinvocation === undefined) return;
    const served = catalog.find(info.group, info.version, info.resource);
    this.#managedReplicas = served?.custom?.scale?.path ?? ["spec", "replicas"];
  }

  /** @throws ApiError 500 if a custom object cannot be converted. */
  objects(): Promise<ViewedObjects> {
    this.#objects ??= this.#makeObjects();
    return this.#objects;
  }

  tail(): Promise<Uint8Array> {
    this.#tail ??= this.objects().then((objects) =>
      reviewTail(reviewFields(this.#request, this.#candidate), objects),
    );
    return this.#tail;
  }

  /** Returns the object of the request after a patch, in its stored version. */
  async fromView(patched: AnyObject): Promise<AnyObject> {
    return await this.#view.fromView(patched, this.#request.object ?? {});
  }

  async #makeObjects(): Promise<ViewedObjects> {
    const { object, oldObject } = this.#request;
    const [seen, seenOld] = await Promise.all([this.#seen(object), this.#seen(oldObject)]);
    return { object: seen, oldObject: seenOld };
  }

  async #seen(object: AnyObject | undefined): Promise<AnyObject | undefined> {
    if (object === undefined) return undefined;
    try {
      const seen = await this.#view.toView(object);
      const path = this.#managedReplicas;
      return path === undefined ? seen : withScaleManagers(seen, object, path);
    } catch (error) {
      throw error instanceof ApiError ? internalError(error.message) : error;
    }
  }
}

/** Versions of one request that webhooks need: nearly always one. */
export class VersionCache {
  readonly #catalog: Pick<Catalog, "find">;
  readonly #request: AdmissionRequest;
  readonly #versions = new Map<Candidate<Hook>["info"], VersionedObjects>();

  constructor(catalog: Pick<Catalog, "find">, request: AdmissionRequest) {
    this.#catalog = catalog;
    this.#request = request;
  }

  of(candidate: Candidate<Hook>): VersionedObjects {
    const known = this.#versions.get(candidate.info);
    if (known !== undefined) return known;
    const made = new VersionedObjects(this.#catalog, this.#request, candidate);
    this.#versions.set(candidate.info, made);
    return made;
  }
}
