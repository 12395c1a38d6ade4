/**
 * managedFields: the managers of each field, updated on every write (api/apply has the algorithm).
 *
 * Works on objects in the version of the request, before admission: fields that admission adds have no
 * owner. Writing a field that a strategy copies from the old object gives no ownership.
 */
import {
  applyingPatch,
  type FieldManagement,
  trackingUpdate,
  trackUpdate,
} from "#api/apply/field-manager.ts";
import { managerName } from "#api/apply/managers.ts";
import type { Steps } from "#api/apply/steps.ts";
import type { ApplyTypes } from "#api/apply/updater.ts";
import { type AnyObject, apiVersionOf, type GroupVersionKind } from "#api/object.ts";
import { showTemplateGeneration } from "#api/pods/template-generation.ts";
import type { Pace } from "#platform/pace.ts";
import type { RequestContext } from "#server/context.ts";
import { typesOfKind } from "./builtin-kind.ts";
import type { ServedKind } from "./kind.ts";
import { listResetFields } from "./reset-fields.ts";
import type { WriteQuery } from "./write-options.ts";

/** Types for field management, computed once per kind. */
const typesOf = new WeakMap<ServedKind, ApplyTypes>();

function management(kind: ServedKind, subresource: string): FieldManagement {
  const types = typesOf.get(kind) ?? kind.types();
  typesOf.set(kind, types);
  const { apiVersion, resource } = kind;
  const resetFields = listResetFields(kind, subresource);
  const management = { types, apiVersion, subresource, resetFields };
  const isDaemonSet = resource.group === "apps" && resource.resource === "daemonsets";
  return isDaemonSet ? { ...management, complete: showTemplateGeneration } : management;
}

/** Returns `next` with updated managedFields. `live`: the stored object, undefined on create. */
export function trackManagedFields(
  context: RequestContext,
  kind: ServedKind,
  query: WriteQuery,
  live: AnyObject | undefined,
  next: AnyObject,
): Promise<AnyObject> {
  const update = {
    live: live === undefined ? undefined : kind.fromStored(live),
    next,
    manager: managerOf(context, query),
    nowMs: context.nowMs,
  };
  return converting(context, kind, (managed) => trackingUpdate(managed, update));
}

/** Merges the applied configuration into the live object, in the version of the request. */
export async function mergeApplied(
  context: RequestContext,
  kind: ServedKind,
  query: WriteQuery,
  live: AnyObject | undefined,
  configuration: AnyObject,
): Promise<AnyObject> {
  const patch = {
    live: live === undefined ? undefined : kind.fromStored(live),
    applied: configuration,
    manager: managerOf(context, query),
    force: query.force ?? false,
    nowMs: context.nowMs,
  };
  const { object } = await converting(context, kind, (managed) => applyingPatch(managed, patch));
  return object;
}

/** Thrown when field management needs an object in the version of one of its managers. */
class ConversionNeeded extends Error {
  readonly object: AnyObject;
  readonly apiVersion: string;
  readonly key: string;

  constructor(object: AnyObject, apiVersion: string, key: string) {
    super("an object is needed in another version");
    this.object = object;
    this.apiVersion = apiVersion;
    this.key = key;
  }
}

/**
 * Field management converts synchronously. Where a conversion needs a call, the run ends there and starts again with
 * the result of the call. This terminates: each run asks for the same objects, a few per served version.
 */
async function converting<T>(
  { pace, requestInfo }: RequestContext,
  kind: ServedKind,
  run: (managed: FieldManagement) => Steps<T>,
): Promise<T> {
  const managed = management(kind, requestInfo.subresource);
  if (kind.convert === undefined) return inTurns(pace, run(managed));
  const known = new Map<string, AnyObject>();
  const convert = (object: AnyObject, apiVersion: string): AnyObject => {
    const key = `${apiVersion} ${JSON.stringify(object)}`;
    const found = known.get(key);
    if (found === undefined) throw new ConversionNeeded(object, apiVersion, key);
    return found;
  };
  const types = { ...managed.types, convert };
  for (;;) {
    try {
      return await inTurns(pace, run({ ...managed, types }));
    } catch (error) {
      if (!(error instanceof ConversionNeeded)) throw error;
      const { key, object, apiVersion } = error;
      known.set(key, await kind.convert(object, apiVersion));
    }
  }
}

/** Runs steps in turns. There is a second step only if the managers own thousands of paths. */
async function inTurns<T>(pace: Pace, steps: Steps<T>): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await pace.turn();
  }
}

export function managerOf(context: RequestContext, query: WriteQuery): string {
  const userAgent = context.request.headers["user-agent"] ?? "";
  return managerName(query.fieldManager, userAgent.toWellFormed());
}

/**
 * Prepares the body of a subresource with a kind of its own (Binding, Eviction, TokenRequest) for admission: in the
 * namespace of the path, with managedFields.
 */
export function trackSent(
  context: RequestContext,
  kind: GroupVersionKind,
  query: WriteQuery,
  sent: AnyObject,
): AnyObject {
  const key = `${apiVersionOf(kind)}/${kind.kind}`;
  const types = sentTypes.get(key) ?? typesOfKind(kind);
  sentTypes.set(key, types);
  const { subresource } = context.requestInfo;
  const { namespace } = context.place;
  return trackUpdate(
    { types, apiVersion: apiVersionOf(kind), subresource, resetFields: [] },
    {
      live: undefined,
      next: { ...sent, metadata: { ...sent.metadata, namespace } },
      manager: managerOf(context, query),
      nowMs: context.nowMs,
    },
  );
}

/** Types by kind: one entry for each kind that trackSent is called with. */
const sentTypes = new Map<string, ApplyTypes>();

/** Returns `next` with the managedFields of a write that the server itself makes. */
export function trackServerWrite(
  kind: ServedKind,
  write: {
    readonly subresource: string;
    readonly manager: string;
    readonly nowMs: number;
    readonly live: AnyObject;
    readonly next: AnyObject;
  },
): AnyObject {
  const { subresource, ...update } = write;
  return trackUpdate(management(kind, subresource), update);
}
