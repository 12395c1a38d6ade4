/** Nodes, namespaces, component statuses, leases, runtime and priority classes, API services. */
import type {
  APIService,
  ComponentStatus,
  Lease,
  Namespace,
  Node,
  PodGroup,
  PriorityClass,
  RuntimeClass,
  Workload,
} from "../gen/types.ts";
import {
  age,
  ageColumn,
  boolean,
  integer,
  nameColumn,
  nameOf,
  printer,
  text,
  wideText,
} from "./printer.ts";
import type { Printer } from "./printer.ts";

const rolePrefix = "node-role.kubernetes.io/";
const roleLabel = "kubernetes.io/role";

export const nodes: Printer = printer<Node>(
  [
    nameColumn,
    text("Status", "Whether the node is ready and takes new pods."),
    text("Roles", "The roles the node's labels give it."),
    ageColumn,
    text("Version", "The version of the node's kubelet."),
    wideText("Internal-IP", "The node's address in the cluster."),
    wideText("External-IP", "The node's address outside of the cluster."),
    wideText("OS-Image", "The operating system the node says it runs."),
    wideText("Kernel-Version", "The kernel the node says it runs."),
    wideText("Container-Runtime", "The container runtime the node says it runs."),
  ],
  (node, nowMs) => {
    const info = node.status?.nodeInfo;
    return [
      nameOf(node),
      nodeStatus(node),
      nodeRoles(node).join(",") || "<none>",
      age(node, nowMs),
      info?.kubeletVersion ?? "",
      nodeAddress(node, "InternalIP"),
      nodeAddress(node, "ExternalIP"),
      info?.osImage || "<unknown>",
      info?.kernelVersion || "<unknown>",
      info?.containerRuntimeVersion || "<unknown>",
    ];
  },
);

function nodeStatus(node: Node): string {
  const ready = node.status?.conditions?.findLast((c) => c.type === "Ready");
  const status = ready === undefined ? "Unknown" : ready.status === "True" ? "Ready" : "NotReady";
  return node.spec?.unschedulable === true ? `${status},SchedulingDisabled` : status;
}

function nodeRoles(node: Node): string[] {
  const roles = new Set<string>();
  for (const [key, value] of Object.entries(node.metadata?.labels ?? {})) {
    if (key.startsWith(rolePrefix)) roles.add(key.slice(rolePrefix.length));
    else if (key === roleLabel) roles.add(value);
  }
  roles.delete("");
  return [...roles].sort();
}

function nodeAddress(node: Node, type: string): string {
  return node.status?.addresses?.find((a) => a.type === type)?.address ?? "<none>";
}

export const namespaces: Printer = printer<Namespace>(
  [nameColumn, text("Status", "Whether the namespace is being deleted."), ageColumn],
  (object, nowMs) => [nameOf(object), object.status?.phase ?? "", age(object, nowMs)],
);

export const componentStatuses: Printer = printer<ComponentStatus>(
  [
    nameColumn,
    text("Status", "Whether the component is healthy."),
    text("Message", "What the component says."),
    text("Error", "Why the component could not be asked."),
  ],
  (object) => {
    const healthy = object.conditions?.find((c) => c.type === "Healthy");
    const status = healthy?.status === "True" ? "Healthy" : "Unhealthy";
    return [
      nameOf(object),
      healthy === undefined ? "Unknown" : status,
      healthy?.message ?? "",
      healthy?.error ?? "",
    ];
  },
);

export const leases: Printer = printer<Lease>(
  [nameColumn, text("Holder", "Who holds the lease."), ageColumn],
  (object, nowMs) => [nameOf(object), object.spec?.holderIdentity ?? "", age(object, nowMs)],
);

export const runtimeClasses: Printer = printer<RuntimeClass>(
  [
    nameColumn,
    text("Handler", "The runtime configuration that runs pods of the class."),
    ageColumn,
  ],
  (object, nowMs) => [nameOf(object), object.handler, age(object, nowMs)],
);

export const priorityClasses: Printer = printer<PriorityClass>(
  [
    nameColumn,
    integer("Value", "The priority of pods of the class."),
    boolean("Global-Default", "Whether pods without a class get this one."),
    ageColumn,
    text("PreemptionPolicy", "Whether pods of the class may preempt others."),
  ],
  (object, nowMs) => [
    nameOf(object),
    object.value ?? 0,
    object.globalDefault ?? false,
    age(object, nowMs),
    object.preemptionPolicy ?? "",
  ],
);

export const podGroups: Printer = printer<PodGroup>(
  [
    nameColumn,
    text("Policy", "Whether the pods are placed together or not at all: Gang, or Basic."),
    text("Workload", "Name of the referenced Workload object"),
    text("Status", "Status of the PodGroup"),
    ageColumn,
  ],
  (object, nowMs) => [
    nameOf(object),
    object.spec.schedulingPolicy.gang === undefined ? "Basic" : "Gang",
    object.spec.podGroupTemplateRef?.workload?.workloadName ?? "<none>",
    podGroupStatus(object),
    age(object, nowMs),
  ],
);

function podGroupStatus({ status }: PodGroup): string {
  const condition = (type: string) => status?.conditions?.find((one) => one.type === type);
  const disrupted = condition("DisruptionTarget");
  if (disrupted !== undefined) return disrupted.reason;
  const scheduled = condition("PodGroupScheduled");
  if (scheduled === undefined) return "Pending";
  return scheduled.status === "True" ? "Scheduled" : "Unschedulable";
}

export const workloads: Printer = printer<Workload>([nameColumn, ageColumn], (object, nowMs) => [
  nameOf(object),
  age(object, nowMs),
]);

export const apiServices: Printer = printer<APIService>(
  [
    nameColumn,
    text("Service", "The service that answers for the group version."),
    text("Available", "Whether the group version can be reached."),
    ageColumn,
  ],
  (object, nowMs) => {
    const service = object.spec?.service;
    const backend = `${service?.namespace ?? ""}/${service?.name ?? ""}`;
    return [
      nameOf(object),
      service === undefined ? "Local" : backend,
      availability(object),
      age(object, nowMs),
    ];
  },
);

function availability(object: APIService): string {
  const available = object.status?.conditions?.find((c) => c.type === "Available");
  if (available === undefined) return "Unknown";
  const { status, reason } = available;
  return status === "True" ? status : `${status} (${reason ?? ""})`;
}
