/**
 * Binding: POST pods/NAME/binding (and POST bindings) assigns a node to a pod. The node never changes afterwards.
 *
 * Holds  a pod that has a node, is being deleted or is still gated is never bound: 409 with upstream's text.
 *        Annotations and labels of the Binding are merged into the pod, and PodScheduled becomes True.
 */
import type { AnyObject } from "#api/object.ts";
import { badRequest, conflict, failure, type FieldError, notFound } from "#api/status.ts";
import { formatTime } from "#api/values/time.ts";
import type { PlainResponse } from "#platform/http.ts";
import type { RequestContext } from "#server/context.ts";
import { admissionRequest } from "./admission-request.ts";
import { answerCreated, plainForm } from "./answer.ts";
import { readTyped } from "./body.ts";
import type { ApiDeps } from "./deps.ts";
import type { ServedKind } from "./kind.ts";
import { trackSent } from "./managed.ts";
import type { StoredKind } from "./stored-kind.ts";
import { writeThrough } from "./update.ts";
import { writeOptions, type WriteQuery, writeQuery } from "./write-options.ts";

const bindingKind = { group: "", version: "v1", kind: "Binding" };
const bindingResource = { group: "", resource: "pods/binding" };

interface Target {
  readonly kind?: string;
  readonly name?: string;
}

interface PodParts {
  readonly spec?: {
    readonly nodeName?: string;
    readonly schedulingGates?: readonly unknown[];
  };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly nominatedNodeName?: string;
  };
}

interface Condition {
  readonly type?: string;
  readonly status?: string;
  readonly lastTransitionTime?: string;
}

/** `pods`: the kind of the bound object; `path`: the kind that the path names, which may be `bindings`. */
export async function bindPod(
  deps: ApiDeps,
  context: RequestContext,
  pods: StoredKind,
  path: ServedKind = pods,
): Promise<PlainResponse> {
  const form = plainForm(context, "none");
  const query = writeQuery("CreateOptions", context.query);
  const binding = await readTyped(context, bindingKind, deps.bodies, query.fieldValidation);
  const name = boundName(context, binding);
  const node = targetNode(binding);
  // A request to `bindings` names its pod in the body; the pod is in the authorised namespace.
  const inPod = { ...context, place: context.place.named(name) };
  const admitted = await admitBinding(deps, inPod, path, binding, query);
  await writeThrough(deps, inPod, pods, query, {
    subresource: "binding",
    createIfMissing: false,
    isAdmitted: true,
    next: (pod) => {
      if (pod === undefined) throw notFound(pods.resource, name);
      return { object: bound(pod, admitted, node, name, context.nowMs), tracked: true };
    },
  });
  return answerCreated(context, form);
}

/** Admits the Binding. The update of the pod that follows is not admitted, as upstream. */
async function admitBinding(
  deps: ApiDeps,
  context: RequestContext,
  path: ServedKind,
  binding: AnyObject,
  query: WriteQuery,
): Promise<AnyObject> {
  const request = admissionRequest(context, path, {
    operation: "CREATE",
    subresource: path.resource.resource === "bindings" ? "" : "binding",
    name: context.place.name,
    object: trackSent(context, bindingKind, query, binding),
    oldObject: undefined,
    dryRun: query.dryRun,
    attempt: {},
    options: writeOptions("CreateOptions", query),
  });
  const mutated = await deps.admission.mutate(request);
  await deps.admission.validate({ ...request, object: mutated });
  return mutated;
}

function boundName(context: RequestContext, binding: AnyObject): string {
  const own = binding.metadata?.name ?? "";
  const path = context.place.name;
  if (path !== "" && own !== path) {
    throw badRequest("name in URL does not match name in Binding object");
  }
  if (path === "" && own === "") throw badRequest("Name parameter required.");
  return path === "" ? own : path;
}

function targetNode(binding: AnyObject): string {
  const target = (binding["target"] ?? {}) as Target; // checked against the schema of Binding
  const errors: FieldError[] = [];
  if (target.kind !== undefined && target.kind !== "" && target.kind !== "Node") {
    const supported = 'supported values: "Node", "<empty>"';
    const message = `Unsupported value: ${JSON.stringify(target.kind)}: ${supported}`;
    errors.push({ reason: "FieldValueNotSupported", field: "target.kind", message });
  }
  const name = target.name ?? "";
  if (name === "") {
    errors.push({ reason: "FieldValueRequired", field: "target.name", message: "Required value" });
  }
  // Upstream returns these as plain errors: 500 without a reason.
  const [first] = errors;
  if (first !== undefined) throw failure(500, "", `${first.field}: ${first.message}`);
  return name;
}

function bound(
  pod: AnyObject,
  binding: AnyObject,
  node: string,
  name: string,
  nowMs: number,
): AnyObject {
  checkBindable(pod, binding, name);
  const metadata = pod.metadata ?? {};
  const parts = pod as PodParts; // a stored pod
  const annotations = { ...metadata.annotations, ...binding.metadata?.annotations };
  const labels = { ...metadata.labels, ...binding.metadata?.labels };
  // Clears the nomination: a bound pod must no longer be counted at its nominated node.
  const { nominatedNodeName: _, ...status } = parts.status ?? {};
  return {
    ...pod,
    metadata: {
      ...metadata,
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
      ...(Object.keys(labels).length === 0 ? {} : { labels }),
    },
    spec: { ...parts.spec, nodeName: node },
    status: { ...status, conditions: markScheduled(status.conditions ?? [], nowMs) },
  };
}

function checkBindable(pod: AnyObject, binding: AnyObject, name: string): void {
  const { uid = "", resourceVersion = "" } = binding.metadata ?? {};
  const { uid: podUid = "", resourceVersion: podVersion = "" } = pod.metadata ?? {};
  if (uid !== "" && uid !== podUid) throw precondition(name, "UID", uid, podUid);
  if (resourceVersion !== "" && resourceVersion !== podVersion) {
    throw precondition(name, "ResourceVersion", resourceVersion, podVersion);
  }
  const spec = (pod as PodParts).spec;
  const refuse = (why: string): Error => conflict(bindingResource, name, why);
  if (pod.metadata?.deletionTimestamp !== undefined) {
    throw refuse(`pod ${name} is being deleted, cannot be assigned to a host`);
  }
  if ((spec?.nodeName ?? "") !== "") {
    throw refuse(`pod ${name} is already assigned to node ${JSON.stringify(spec?.nodeName)}`);
  }
  if ((spec?.schedulingGates?.length ?? 0) > 0) {
    throw refuse(`pod ${name} has non-empty .spec.schedulingGates`);
  }
}

function precondition(name: string, what: string, wanted: string, actual: string): Error {
  const why = `Precondition failed: ${what} in precondition: ${wanted}, ${what} in object meta: ${actual}`;
  return conflict(bindingResource, name, why);
}

/** Sets condition PodScheduled at its place in the list; its transition time stays if it was True before. */
function markScheduled(conditions: readonly Condition[], nowMs: number): readonly Condition[] {
  const at = conditions.findIndex(({ type }) => type === "PodScheduled");
  const known = conditions[at];
  const since = known?.status === "True" ? known.lastTransitionTime : undefined;
  const mine = {
    type: "PodScheduled",
    status: "True",
    lastProbeTime: null,
    lastTransitionTime: since ?? formatTime(nowMs),
  };
  return at < 0 ? [...conditions, mine] : conditions.with(at, mine);
}
