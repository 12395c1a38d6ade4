/** Reads the workloads in namespaces of callers with many requests: how many pods each runs, and with which account. */
import type { KubeObject } from "#api/object.ts";
import type { Client } from "#client/client.ts";
import type { Workload } from "./evidence.ts";

/** Maximum number of workloads of one kind in one namespace; a workload has about 5 KB. */
const pageMax = 500;
const resources = ["deployments", "daemonsets", "statefulsets"] as const;

type Fields = Readonly<Record<string, unknown>>;

/** Reads the workloads of the namespaces. Rejects when a page cannot be read. */
export async function readWorkloads(
  client: Client,
  namespaces: readonly string[],
): Promise<readonly Workload[]> {
  const found: Workload[] = [];
  for (const namespace of namespaces) {
    for (const resource of resources) {
      const ref = { group: "apps", version: "v1", resource };
      const call = { namespace, limit: pageMax, resourceVersion: "0" };
      const { items } = await client.list<KubeObject>(ref, call);
      for (const item of items.slice(0, pageMax)) found.push(...workloadOf(resource, item));
    }
  }
  return found;
}

/** The server is not trusted: fields of another type are dropped. */
function workloadOf(resource: string, item: unknown): readonly Workload[] {
  const { metadata, spec, status } = fieldsOf(item);
  const { name, namespace } = fieldsOf(metadata);
  if (typeof name !== "string" || typeof namespace !== "string") return [];
  const pod = fieldsOf(fieldsOf(fieldsOf(spec)["template"])["spec"]);
  const { serviceAccountName, containers } = pod;
  const replicas =
    resource === "daemonsets"
      ? fieldsOf(status)["desiredNumberScheduled"]
      : fieldsOf(spec)["replicas"];
  return [
    {
      kind: resource.slice(0, -1),
      namespace,
      name,
      serviceAccount: typeof serviceAccountName === "string" ? serviceAccountName : "default",
      replicas: typeof replicas === "number" ? replicas : 1,
      containers: Array.isArray(containers) ? containers.flatMap(nameOf) : [],
    },
  ];
}

function nameOf(container: unknown): readonly string[] {
  const { name } = fieldsOf(container);
  return typeof name === "string" ? [name] : [];
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}
