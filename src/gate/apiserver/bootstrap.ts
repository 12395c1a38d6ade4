/**
 * Bootstrap: creates the objects of bootstrap-objects.ts at the start.
 *
 * Holds  idempotent: existing objects stay as they are, except RBAC policy (missing rules are added), flow control
 *        objects while their autoupdate annotation is true, the authorities that aggregated servers trust, and this
 *        server's own endpoints.
 * Cost   all objects of a wave are written at once, so the store's group commit needs only two or three syncs. The
 *        second wave needs the namespaces of the first. There is no admission, because the server itself writes.
 */
import { formatTime } from "#api/values/time.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import type { AnyObject } from "#api/object.ts";
import { parseApiVersion } from "#api/object.ts";
import { resourceByKind } from "#api/schema/resources.ts";
import { ApiError } from "#api/status.ts";
import { type AccountRole, bootstrapPolicy, reconcilePolicy } from "#auth/bootstrap-policy.ts";
import { must } from "#base/assert.ts";
import {
  bootstrapFlowSchemas,
  bootstrapPriorityLevels,
  isMandatory,
} from "#flowcontrol/bootstrap.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import {
  apiServiceObjects,
  authenticationConfigMap,
  type BootstrapFacts,
  isReachable,
  kubernetesEndpoints,
  kubeletClientBinding,
  kubernetesEndpointSlice,
  kubernetesService,
  legacyTokenTracking,
  namespaceObjects,
  priorityClassObjects,
  serviceCidrObject,
} from "./bootstrap-objects.ts";
import type { Catalog } from "./kind.ts";
import { type StoredKind, storedKind } from "./stored-kind.ts";

interface BootstrapDeps {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly log: Log;
}

interface BootstrapOptions {
  /** Roles of the controllers that run with this server, for the RBAC policy. */
  readonly controllerRoles: readonly AccountRole[];
}

/** Returns the object to store in place of `current`, or undefined to leave `current` unchanged. */
type Reconcile = (wanted: AnyObject, current: AnyObject) => AnyObject | undefined;

const keep: Reconcile = () => undefined;

/** Resolves when every object is durable. Rejects with the first refusal; the object is in the log. */
export async function bootstrap(
  deps: BootstrapDeps,
  facts: BootstrapFacts,
  options: BootstrapOptions,
): Promise<void> {
  const { catalog } = deps;
  const now = formatTime(deps.clock.nowMs());
  const { host, port } = facts.advertise;
  const endpoints =
    isReachable(host) && facts.isOneOfSeveral !== true
      ? [kubernetesEndpoints([host], port), kubernetesEndpointSlice([host], port)]
      : [];
  const gates = catalog.infos().find(({ group, resource }) => group === "" && resource === "pods");
  const policy = bootstrapPolicy(options.controllerRoles, gates?.gates);
  const namespaced = (object: AnyObject): boolean => object.metadata?.namespace !== undefined;
  await ensureAll(deps, [
    [namespaceObjects(), keep],
    [priorityClassObjects(), keep],
    [bootstrapPriorityLevels(), reconcileFlowControl],
    [bootstrapFlowSchemas(), reconcileFlowControl],
    [apiServiceObjects(catalog.infos(), now), keep],
    [[serviceCidrObject(facts, now)], keep],
    [policy.filter((object) => !namespaced(object)), reconcilePolicy],
    [[kubeletClientBinding()], reconcilePolicy],
  ]);
  await ensureAll(deps, [
    [[kubernetesService(facts), legacyTokenTracking(now)], keep],
    [[authenticationConfigMap(facts)], replaceTrust],
    [endpoints, replaceEndpoints],
    [policy.filter(namespaced), reconcilePolicy],
  ]);
}

/** Ensures the flow control objects only: creates the missing ones and restores the mandatory ones. */
export function ensureFlowControl(deps: BootstrapDeps): Promise<void> {
  return ensureAll(deps, [
    [bootstrapPriorityLevels(), reconcileFlowControl],
    [bootstrapFlowSchemas(), reconcileFlowControl],
  ]);
}

type Batch = readonly [objects: readonly AnyObject[], reconcile: Reconcile];

async function ensureAll(deps: BootstrapDeps, batches: readonly Batch[]): Promise<void> {
  await Promise.all(
    batches.flatMap(([objects, reconcile]) =>
      objects.map((object) => ensure(deps, object, reconcile)),
    ),
  );
}

async function ensure(deps: BootstrapDeps, wanted: AnyObject, reconcile: Reconcile): Promise<void> {
  const kind = kindOf(deps.catalog, wanted);
  if (kind === undefined) return;
  const { name = "", namespace = "" } = wanted.metadata ?? {};
  const object = kind.toStored(kind.applyDefaults(wanted));
  const current = kind.store.peek(namespace, name)?.object;
  try {
    if (current === undefined) await create(kind, namespace, object);
    else await adjust(kind, namespace, name, object, reconcile);
  } catch (error) {
    deps.log.error("bootstrap object refused", { kind: wanted.kind, namespace, name });
    throw error;
  }
}

/** @returns undefined when this server does not serve the kind. */
function kindOf(catalog: Catalog, object: AnyObject): StoredKind | undefined {
  const gv = must(parseApiVersion(object.apiVersion ?? ""), "a bootstrap object has a version");
  const info = resourceByKind({ ...gv, kind: object.kind ?? "" });
  const kind =
    info === undefined ? undefined : catalog.find(info.group, info.version, info.resource);
  return kind === undefined ? undefined : storedKind(kind);
}

async function create(kind: StoredKind, namespace: string, object: AnyObject): Promise<void> {
  const status = object["status"];
  try {
    await kind.store.create(namespace, object, { dryRun: false });
  } catch (error) {
    // Another server has created the object first.
    if (!(error instanceof ApiError) || error.code !== 409) throw error;
  }
  if (status === undefined) return;
  const name = object.metadata?.name ?? "";
  const withStatus = (current: AnyObject | undefined): AnyObject => ({ ...current, status });
  await kind.store.update(namespace, name, withStatus, { subresource: "status", dryRun: false });
}

async function adjust(
  kind: StoredKind,
  namespace: string,
  name: string,
  wanted: AnyObject,
  reconcile: Reconcile,
): Promise<void> {
  const seen = kind.store.peek(namespace, name)?.object;
  if (seen === undefined || reconcile(wanted, seen) === undefined) return;
  await kind.store.update(
    namespace,
    name,
    (current) => (current === undefined ? wanted : (reconcile(wanted, current) ?? current)),
    { subresource: "", dryRun: false },
  );
}

const autoupdate = "apf.kubernetes.io/autoupdate-spec";

/** Restores the spec: of mandatory objects always, of suggested ones while their annotation asks for it (as upstream). */
function reconcileFlowControl(wanted: AnyObject, current: AnyObject): AnyObject | undefined {
  const ours = current.metadata?.annotations?.[autoupdate] === "true";
  if (!ours && !isMandatory(current.metadata?.name ?? "")) return undefined;
  if (jsonEqual(wanted["spec"], current["spec"])) return undefined;
  return { ...current, spec: wanted["spec"] };
}

/** Sets this server's keys in the ConfigMap that delegates read; other keys stay. */
function replaceTrust(wanted: AnyObject, current: AnyObject): AnyObject | undefined {
  const data = { ...(current["data"] as object), ...(wanted["data"] as object) };
  return jsonEqual(current["data"], data) ? undefined : ({ ...current, data } as AnyObject);
}

/** Replaces the address: with a single server, a restart at another address moves the endpoint. */
function replaceEndpoints(wanted: AnyObject, current: AnyObject): AnyObject | undefined {
  const fields = ["subsets", "endpoints", "ports", "addressType"] as const;
  const changed = fields.filter((field) => !jsonEqual(wanted[field], current[field]));
  if (changed.length === 0) return undefined;
  return { ...current, ...Object.fromEntries(changed.map((field) => [field, wanted[field]])) };
}
