/**
 * Eviction: a deletion that first checks the pod's disruption budget.
 *
 * Holds  a budget is charged (disruptionsAllowed - 1, the pod noted in disruptedPods) before the pod is
 *        deleted, in one guarded update, so concurrent evictions never spend the same allowance twice.
 */
import { given } from "#base/given.ts";
import type { AnyObject } from "#api/object.ts";
import {
  labelsMatch,
  type LabelSelectorSpec,
  selectorFromLabelSelector,
} from "#api/selectors/label-selector.ts";
import { badRequest, conflict, failure, forbidden, notFound } from "#api/status.ts";
import { formatTime } from "#api/values/time.ts";
import type { PlainResponse } from "#platform/http.ts";
import type { RequestContext } from "#server/context.ts";
import { answerCreated, plainForm } from "./answer.ts";
import { readTyped } from "./body.ts";
import { admissionRequest } from "./admission-request.ts";
import { deleteAdmitted } from "./delete.ts";
import { type DeleteQuery, deleteQuery } from "./delete-options.ts";
import type { ApiDeps } from "./deps.ts";
import { trackSent } from "./managed.ts";
import { type StoredKind, storedKind } from "./stored-kind.ts";
import { writeOptions, type WriteQuery, writeQuery } from "./write-options.ts";

/** Its Eviction equals that of policy/v1. Upstream still accepts it, but serves no other kind of this version. */
const olderVersion = "policy/v1beta1";
const evictionKind = { group: "policy", version: "v1", kind: "Eviction" };
const budgets = { group: "policy", resource: "poddisruptionbudgets" };
/** Maximum number of unconfirmed evictions of a budget; more are refused, as upstream. */
const disruptedPodsMax = 2000;
const violated = "Cannot evict pod as it would violate the pod's disruption budget.";

interface Budget extends AnyObject {
  readonly spec?: {
    readonly selector?: LabelSelectorSpec;
    readonly unhealthyPodEvictionPolicy?: string;
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly disruptionsAllowed?: number;
    readonly currentHealthy?: number;
    readonly desiredHealthy?: number;
    readonly disruptedPods?: Readonly<Record<string, string>>;
    readonly conditions?: readonly {
      readonly type?: string;
      readonly status?: string;
      readonly reason?: string;
      readonly message?: string;
      readonly lastTransitionTime?: string | undefined;
    }[];
  };
}

interface PodStatus {
  readonly phase?: string;
  readonly conditions?: readonly {
    readonly type?: string;
    readonly status?: string;
    readonly lastTransitionTime?: string;
  }[];
}

export async function evictPod(
  deps: ApiDeps,
  context: RequestContext,
  pods: StoredKind,
): Promise<PlainResponse> {
  const form = plainForm(context, "none");
  const { namespace, name } = context.place;
  const created = writeQuery("CreateOptions", context.query);
  const validation = created.fieldValidation;
  const eviction = await readTyped(context, evictionKind, deps.bodies, validation, olderVersion);
  if (eviction.metadata?.name !== name) {
    throw badRequest("name in URL does not match name in Eviction object");
  }
  const asked = (eviction["deleteOptions"] ?? {}) as AnyObject; // checked by readTyped
  const given = deleteQuery(asked, context.query);
  const query = { ...given, dryRun: given.dryRun || created.dryRun };
  await admitEviction(deps, context, pods, eviction, created);
  const pod = (await pods.store.get(namespace, name, {})).object;
  if (!outsideBudgets(pod)) await chargeBudget(deps, context, pod, query);
  const marked = await markEvicted(context, pods, deleteUnchanged(pod, query));
  await deleteAdmitted(context, pods, marked, context.place);
  return answerCreated(context, form);
}

/** Admits the eviction before a budget is charged. The deletion that follows is not admitted, as upstream. */
async function admitEviction(
  deps: ApiDeps,
  context: RequestContext,
  pods: StoredKind,
  eviction: AnyObject,
  /** Query of the eviction itself: for admission, a dry run of the deletion alone is not a dry run. */
  query: WriteQuery,
): Promise<void> {
  const request = admissionRequest(context, pods, {
    operation: "CREATE",
    subresource: "eviction",
    name: context.place.name,
    object: trackSent(context, evictionKind, query, eviction),
    oldObject: undefined,
    dryRun: query.dryRun,
    attempt: {},
    options: writeOptions("CreateOptions", query),
  });
  const mutated = await deps.admission.mutate(request);
  await deps.admission.validate({ ...request, object: withDryRun(mutated, query) });
}

/** Copies the dry run into the eviction's delete options, if there are any. */
function withDryRun(eviction: AnyObject, { dryRun }: WriteQuery): AnyObject {
  const options = eviction["deleteOptions"] as object | undefined; // checked against the schema
  if (!dryRun || options === undefined) return eviction;
  return { ...eviction, deleteOptions: { ...options, dryRun: ["All"] } };
}

/** Pins the deletion to the checked pod's uid: another pod of the same name is a conflict. */
function deleteUnchanged(pod: AnyObject, query: DeleteQuery): DeleteQuery {
  const uid = query.options.preconditions?.uid ?? pod.metadata?.uid;
  if (uid === undefined) return query;
  const preconditions = { ...query.options.preconditions, uid };
  return { ...query, options: { ...query.options, preconditions } };
}

const evicting = {
  type: "DisruptionTarget",
  status: "True",
  reason: "EvictionByEvictionAPI",
  message: "Eviction API: evicting",
};

/**
 * Writes the reason of the eviction into the pod's status before the pod is deleted. A dry run does not.
 *
 * @returns the query for the deletion: a resourceVersion in it is replaced by that of this write.
 */
async function markEvicted(
  context: RequestContext,
  pods: StoredKind,
  query: DeleteQuery,
): Promise<DeleteQuery> {
  if (query.dryRun) return query;
  const { namespace, name } = context.place;
  const { preconditions } = query.options;
  const { object } = await pods.store.update(
    namespace,
    name,
    (current) => {
      if (current === undefined) throw notFound(pods.resource, name);
      checkPreconditions(current, name, preconditions);
      return withEvicting(current, context.nowMs);
    },
    { subresource: "status", dryRun: false },
  );
  if (preconditions?.resourceVersion === undefined) return query;
  const next = { ...preconditions, resourceVersion: object.resourceVersion };
  return { ...query, options: { ...query.options, preconditions: next } };
}

/** Upstream puts the kind in place of the resource here. */
const podKind = { group: "", resource: "Pod" };

function checkPreconditions(
  { metadata = {} }: AnyObject,
  name: string,
  preconditions: { readonly uid?: string; readonly resourceVersion?: string } = {},
): void {
  const { uid, resourceVersion } = preconditions;
  if (uid !== undefined && uid !== metadata.uid) {
    const why = `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`;
    throw conflict(podKind, name, why);
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    const why = `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`;
    throw conflict(podKind, name, why);
  }
}

function withEvicting(pod: AnyObject, nowMs: number): AnyObject {
  const status = (pod["status"] ?? {}) as PodStatus;
  const conditions = status.conditions ?? [];
  const at = conditions.findIndex(({ type }) => type === evicting.type);
  const old = conditions[at];
  const lastTransitionTime =
    old?.status === evicting.status ? old.lastTransitionTime : formatTime(nowMs);
  const mine = { ...evicting, ...given({ lastTransitionTime }) };
  const next = at < 0 ? [...conditions, mine] : conditions.with(at, mine);
  return { ...pod, status: { ...status, conditions: next } };
}

/** Whether budgets do not protect the pod: it is pending, finished, or being deleted. */
function outsideBudgets(pod: AnyObject): boolean {
  const phase = (pod["status"] as PodStatus | undefined)?.phase ?? "";
  if (phase === "Pending" || phase === "Succeeded" || phase === "Failed") return true;
  return pod.metadata?.deletionTimestamp !== undefined;
}

async function chargeBudget(
  deps: ApiDeps,
  context: RequestContext,
  pod: AnyObject,
  query: DeleteQuery,
): Promise<void> {
  const { namespace, name: podName } = context.place;
  const covering = budgetsOf(deps, namespace, pod);
  if (covering.length > 1) {
    const text =
      "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
    throw failure(500, "InternalError", text);
  }
  const [budget] = covering;
  const found = deps.catalog.find("policy", "v1", "poddisruptionbudgets");
  if (budget === undefined || found === undefined) return;
  if (!isReady(pod) && unhealthyMayGo(budget)) return;
  const name = budget.metadata?.name ?? "";
  await storedKind(found).store.update(
    namespace,
    name,
    (current) => {
      if (current === undefined) throw notFound(budgets, name);
      return takeDisruption(current, podName, context.nowMs);
    },
    { subresource: "status", dryRun: query.dryRun },
  );
}

function budgetsOf(deps: ApiDeps, namespace: string, pod: AnyObject): readonly Budget[] {
  return deps.lookup.list(budgets, namespace).filter((candidate) => {
    const selector = (candidate as Budget).spec?.selector;
    if (selector === undefined) return false;
    return labelsMatch(selectorFromLabelSelector(selector), pod.metadata?.labels ?? {});
  });
}

function isReady(pod: AnyObject): boolean {
  const conditions = (pod["status"] as PodStatus | undefined)?.conditions ?? [];
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

function unhealthyMayGo(budget: Budget): boolean {
  if (budget.spec?.unhealthyPodEvictionPolicy === "AlwaysAllow") return true;
  const { currentHealthy = 0, desiredHealthy = 0 } = budget.status ?? {};
  return desiredHealthy > 0 && currentHealthy >= desiredHealthy;
}

function takeDisruption(current: AnyObject, podName: string, nowMs: number): AnyObject {
  const budget = current as Budget; // a stored PodDisruptionBudget
  const name = budget.metadata?.name ?? "";
  const status = budget.status ?? {};
  checkBudget(budget, name);
  const left = (status.disruptionsAllowed ?? 0) - 1;
  const disruptedPods = { ...status.disruptedPods, [podName]: formatTime(nowMs) };
  const conditions = left > 0 ? {} : { conditions: exhaustedError(budget, nowMs) };
  return {
    ...budget,
    status: { ...status, ...conditions, disruptionsAllowed: left, disruptedPods },
  };
}

/** Sets condition DisruptionAllowed to False at its place; its transition time stays if it was False before. */
function exhaustedError(budget: Budget, nowMs: number): readonly object[] {
  const conditions = budget.status?.conditions ?? [];
  const at = conditions.findIndex(({ type }) => type === "DisruptionAllowed");
  const known = conditions[at];
  const mine = {
    type: "DisruptionAllowed",
    status: "False",
    reason: "InsufficientPods",
    message: "",
    observedGeneration: budget.status?.observedGeneration ?? 0,
    lastTransitionTime: known?.status === "False" ? known.lastTransitionTime : formatTime(nowMs),
  };
  return at < 0 ? [...conditions, mine] : conditions.with(at, mine);
}

function checkBudget(budget: Budget, name: string): void {
  const status = budget.status ?? {};
  const allowed = status.disruptionsAllowed ?? 0;
  if ((status.observedGeneration ?? 0) < (budget.metadata?.generation ?? 0)) {
    throw tooMany(`The disruption budget ${name} is still being processed by the server.`, 10);
  }
  if (allowed < 0) throw forbidden(budgets, name, "pdb disruptions allowed is negative");
  if (Object.keys(status.disruptedPods ?? {}).length > disruptedPodsMax) {
    const why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller";
    throw forbidden(budgets, name, why);
  }
  if (allowed > 0) return;
  throw tooMany(`The disruption budget ${name} ${whyNone(budget)}`, 0);
}

/** Reason of the refusal. After a failed sync the counts are meaningless, so its message is given instead. */
function whyNone({ status = {} }: Budget): string {
  const { desiredHealthy = 0, currentHealthy = 0, conditions = [] } = status;
  const condition = conditions.find(({ type }) => type === "DisruptionAllowed");
  const { reason = "", message = "" } = condition?.status === "False" ? condition : {};
  const none = "does not allow evicting pods currently";
  if (message !== "" && reason === "SyncFailed") {
    return `${none} because it failed sync: ${message}`;
  }
  if (currentHealthy <= desiredHealthy) {
    return `needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`;
  }
  return message === "" ? none : `${none} (${reason}): ${message}`;
}

function tooMany(why: string, retryAfterSeconds: number): Error {
  return failure(429, "TooManyRequests", violated, {
    causes: [{ reason: "DisruptionBudget", message: why }],
    ...(retryAfterSeconds === 0 ? {} : { retryAfterSeconds }),
  });
}
