/**
 * Priority: converts a pod's class name into a number and a preemption policy. Without a name the global default class
 * applies, or 0 if there is none.
 */
import type { Pod, PodGroup, PriorityClass } from "#api/gen/types.ts";
import type { Lister } from "#api/lister.ts";
import type { AnyObject } from "#api/object.ts";
import { given } from "#base/given.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { isCore, isResource, forbiddenError, withSpec } from "./request.ts";

const group = "scheduling.k8s.io";
const classes = { group, resource: "priorityclasses" };

interface Established {
  readonly name: string;
  readonly priority: number;
  readonly policy: string | undefined;
}

export function priority(deps: { readonly lookup: Lister }): AdmissionPlugin {
  return {
    name: "Priority",
    mutate(request: AdmissionRequest): AnyObject {
      const object = request.object ?? {};
      if (isResource(request, group, "podgroups")) return ofGroup(deps.lookup, request, object);
      if (!isCore(request, "pods")) return object;
      if (request.operation === "CREATE") return establish(deps.lookup, request, object);
      if (request.operation === "UPDATE") return keep(object, request.oldObject);
      return object;
    },
    validate(request: AdmissionRequest): void {
      if (request.object !== undefined && isResource(request, group, "priorityclasses")) {
        validateClass(deps.lookup, request);
      }
    },
  };
}

/** Keeps the fields if a client that does not know them omits them; validation refuses changes. */
function keep(object: AnyObject, oldObject: AnyObject | undefined): AnyObject {
  const spec = (object as Pod).spec;
  const old = (oldObject as Pod | undefined)?.spec;
  const fields = {
    ...(spec?.priority === undefined && old?.priority !== undefined
      ? { priority: old.priority }
      : {}),
    ...(spec?.preemptionPolicy === undefined && old?.preemptionPolicy !== undefined
      ? { preemptionPolicy: old.preemptionPolicy }
      : {}),
  };
  return Object.keys(fields).length === 0 ? object : withSpec(object, fields);
}

function establish(lookup: Lister, request: AdmissionRequest, object: AnyObject): AnyObject {
  const spec = (object as Pod).spec;
  const asked = spec?.priorityClassName ?? "";
  const found = asked === "" ? defaultPriority(lookup) : classPriority(lookup, request, asked);
  if (spec?.priority !== undefined && spec.priority !== found.priority) {
    throw forbiddenError(
      request,
      `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${found.priority} from the given PriorityClass name`,
    );
  }
  const policy = spec?.preemptionPolicy;
  if (found.policy !== undefined && policy !== undefined && policy !== found.policy) {
    throw forbiddenError(
      request,
      `the string value of PreemptionPolicy (${policy}) must not be provided in pod spec; priority admission controller computed ${found.policy} from the given PriorityClass name`,
    );
  }
  return withSpec(object, {
    priority: found.priority,
    ...(found.name === "" ? {} : { priorityClassName: found.name }),
    ...given({ preemptionPolicy: found.policy }),
  });
}

/** The same for a PodGroup, whose priority applies when its Pods preempt together. */
function ofGroup(lookup: Lister, request: AdmissionRequest, object: AnyObject): AnyObject {
  const isCounted = request.info.gates?.has("WorkloadAwarePreemption") === true;
  if (request.operation !== "CREATE" || !isCounted) return object;
  const spec = (object as Partial<PodGroup>).spec;
  const asked = spec?.priorityClassName ?? "";
  const { name, priority } =
    asked === "" ? defaultPriority(lookup) : classPriority(lookup, request, asked);
  if (spec?.priority !== undefined && spec.priority !== priority) {
    throw forbiddenError(
      request,
      `priority set in the pod group (${spec.priority}) must match the priority computed (${priority}) based on the priority class set in the spec`,
    );
  }
  return withSpec(object, { priority, ...(name === "" ? {} : { priorityClassName: name }) });
}

function classPriority(lookup: Lister, request: AdmissionRequest, name: string): Established {
  const found = lookup.get(classes, "", name) as PriorityClass | undefined;
  if (found === undefined)
    throw forbiddenError(request, `no PriorityClass with name ${name} was found`);
  return { name, priority: found.value ?? 0, policy: found.preemptionPolicy };
}

function defaultPriority(lookup: Lister): Established {
  const found = defaultClass(lookup);
  if (found === undefined) return { name: "", priority: 0, policy: "PreemptLowerPriority" };
  return {
    name: found.metadata?.name ?? "",
    priority: found.value ?? 0,
    policy: found.preemptionPolicy,
  };
}

/** If several classes claim to be the default, the one with the lowest value is used. */
function defaultClass(lookup: Lister): PriorityClass | undefined {
  const marked = (
    lookup.list(classes, "") as readonly unknown[] as readonly PriorityClass[]
  ).filter((candidate) => candidate.globalDefault === true);
  return marked.toSorted((a, b) => (a.value ?? 0) - (b.value ?? 0))[0];
}

function validateClass(lookup: Lister, request: AdmissionRequest): void {
  const next = request.object as unknown as PriorityClass;
  if (next.globalDefault !== true) return;
  const current = defaultClass(lookup)?.metadata?.name;
  if (current === undefined) return;
  if (request.operation === "UPDATE" && current === next.metadata?.name) return;
  throw forbiddenError(
    request,
    `PriorityClass ${current} is already marked as default. Only one default can exist`,
  );
}
