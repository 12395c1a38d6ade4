/** Small valid objects of the kinds people write daily, and the paths of their collections. */

export interface Sample {
  /** Collection path; `{ns}` is the case's namespace. */
  readonly path: string;
  readonly body: SampleObject;
}

export interface SampleObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

const labels = { app: "a" };
const podSpec = { containers: [{ name: "c", image: "nginx" }] };
const template = { metadata: { labels }, spec: podSpec };
const selector = { matchLabels: labels };
const subjects = [{ kind: "User", name: "u", apiGroup: "rbac.authorization.k8s.io" }];
const roleRef = (kind: string): object => ({
  apiGroup: "rbac.authorization.k8s.io",
  kind,
  name: "r",
});
const rules = [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }];

function sample(apiVersion: string, kind: string, resource: string, fields: object = {}): Sample {
  return {
    path: `${apiBase(apiVersion)}/namespaces/{ns}/${resource}`,
    body: { apiVersion, kind, metadata: { name: "a" }, ...fields },
  };
}

/** Cluster-wide: the name carries the case's namespace, which no other case has. */
function wide(apiVersion: string, kind: string, resource: string, fields: object = {}): Sample {
  return {
    path: `${apiBase(apiVersion)}/${resource}`,
    body: { apiVersion, kind, metadata: { name: "{ns}" }, ...fields },
  };
}

export function apiBase(apiVersion: string): string {
  return apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
}

const claimSpec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
const backend = { service: { name: "s", port: { number: 80 } } };
const http = { paths: [{ path: "/", pathType: "Prefix", backend }] };
const job = { template: { spec: { ...podSpec, restartPolicy: "Never" } } };

export const samples: readonly Sample[] = [
  sample("v1", "ConfigMap", "configmaps", { data: { k: "v" } }),
  sample("v1", "Secret", "secrets", { data: { k: "dg==" } }),
  sample("v1", "Pod", "pods", { spec: podSpec }),
  sample("v1", "Service", "services", { spec: { selector: labels, ports: [{ port: 80 }] } }),
  sample("v1", "ServiceAccount", "serviceaccounts"),
  sample("v1", "Endpoints", "endpoints", {
    subsets: [{ addresses: [{ ip: "192.0.2.1" }], ports: [{ port: 80 }] }],
  }),
  sample("v1", "PersistentVolumeClaim", "persistentvolumeclaims", { spec: claimSpec }),
  sample("v1", "LimitRange", "limitranges", {
    spec: { limits: [{ type: "Container", default: { cpu: "1" } }] },
  }),
  sample("v1", "ResourceQuota", "resourcequotas", { spec: { hard: { pods: "5" } } }),
  sample("v1", "ReplicationController", "replicationcontrollers", {
    spec: { replicas: 1, selector: labels, template },
  }),
  sample("v1", "PodTemplate", "podtemplates", { template }),
  sample("v1", "Event", "events", {
    involvedObject: { kind: "Pod", name: "p", namespace: "{ns}" },
    reason: "R",
    message: "m",
    type: "Normal",
  }),
  sample("apps/v1", "Deployment", "deployments", { spec: { replicas: 2, selector, template } }),
  sample("apps/v1", "ReplicaSet", "replicasets", { spec: { replicas: 2, selector, template } }),
  sample("apps/v1", "StatefulSet", "statefulsets", {
    spec: { serviceName: "s", selector, template },
  }),
  sample("apps/v1", "DaemonSet", "daemonsets", { spec: { selector, template } }),
  sample("apps/v1", "ControllerRevision", "controllerrevisions", { revision: 1, data: { a: 1 } }),
  sample("batch/v1", "Job", "jobs", { spec: job }),
  sample("batch/v1", "CronJob", "cronjobs", {
    spec: { schedule: "*/5 * * * *", jobTemplate: { spec: job } },
  }),
  sample("networking.k8s.io/v1", "Ingress", "ingresses", {
    spec: { rules: [{ host: "a.b", http }] },
  }),
  sample("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", { spec: { podSelector: {} } }),
  wide("networking.k8s.io/v1", "IngressClass", "ingressclasses", {
    spec: { controller: "example.com/c" },
  }),
  sample("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", {
    spec: {
      maxReplicas: 3,
      scaleTargetRef: { kind: "Deployment", name: "d", apiVersion: "apps/v1" },
    },
  }),
  sample("autoscaling/v1", "HorizontalPodAutoscaler", "horizontalpodautoscalers", {
    spec: {
      maxReplicas: 3,
      scaleTargetRef: { kind: "Deployment", name: "d", apiVersion: "apps/v1" },
    },
  }),
  sample("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", {
    spec: { minAvailable: 1, selector },
  }),
  sample("rbac.authorization.k8s.io/v1", "Role", "roles", { rules }),
  sample("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", {
    subjects,
    roleRef: roleRef("Role"),
  }),
  wide("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", { rules }),
  wide("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", {
    subjects,
    roleRef: roleRef("ClusterRole"),
  }),
  sample("coordination.k8s.io/v1", "Lease", "leases", { spec: { holderIdentity: "me" } }),
  sample("discovery.k8s.io/v1", "EndpointSlice", "endpointslices", {
    addressType: "IPv4",
    endpoints: [{ addresses: ["192.0.2.1"] }],
    ports: [{ port: 80 }],
  }),
  sample("events.k8s.io/v1", "Event", "events", {
    eventTime: "2026-01-01T00:00:00.000000Z",
    reportingController: "c",
    reportingInstance: "i",
    action: "A",
    reason: "R",
    type: "Normal",
    regarding: { kind: "Pod", name: "p", namespace: "{ns}" },
  }),
  wide("v1", "Node", "nodes", { spec: { podCIDR: "10.1.0.0/24" } }),
  wide("v1", "PersistentVolume", "persistentvolumes", {
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      hostPath: { path: "/tmp" },
    },
  }),
  wide("storage.k8s.io/v1", "StorageClass", "storageclasses", { provisioner: "example.com/p" }),
  wide("storage.k8s.io/v1", "CSIDriver", "csidrivers", {}),
  wide("storage.k8s.io/v1", "CSINode", "csinodes", {
    spec: { drivers: [{ name: "d", nodeID: "n" }] },
  }),
  wide("storage.k8s.io/v1", "VolumeAttachment", "volumeattachments", {
    spec: { attacher: "a", nodeName: "n", source: { persistentVolumeName: "v" } },
  }),
  wide("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", { value: 7 }),
  wide("node.k8s.io/v1", "RuntimeClass", "runtimeclasses", { handler: "h" }),
  wide("certificates.k8s.io/v1", "CertificateSigningRequest", "certificatesigningrequests", {
    spec: { request: "e30=", signerName: "example.com/s", usages: ["client auth"] },
  }),
  wide(
    "admissionregistration.k8s.io/v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    {},
  ),
  wide(
    "admissionregistration.k8s.io/v1",
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
    {},
  ),
  wide(
    "flowcontrol.apiserver.k8s.io/v1",
    "PriorityLevelConfiguration",
    "prioritylevelconfigurations",
    {
      spec: { type: "Limited", limited: { limitResponse: { type: "Reject" } } },
    },
  ),
  wide("flowcontrol.apiserver.k8s.io/v1", "FlowSchema", "flowschemas", {
    spec: { priorityLevelConfiguration: { name: "global-default" } },
  }),
  wide("apiregistration.k8s.io/v1", "APIService", "apiservices", {
    metadata: { name: "v1.{ns}.example.com" },
    spec: {
      group: "{ns}.example.com",
      version: "v1",
      groupPriorityMinimum: 10,
      versionPriority: 5,
      service: { name: "s", namespace: "{ns}" },
      insecureSkipTLSVerify: true,
    },
  }),
  sample("resource.k8s.io/v1", "ResourceClaim", "resourceclaims", {
    spec: { devices: { requests: [{ name: "r", exactly: { deviceClassName: "c" } }] } },
  }),
];

export const sampleOf = (kind: string): Sample => {
  const found = samples.find(({ body }) => body.kind === kind);
  if (found === undefined) throw new Error(`no sample ${kind}`);
  return found;
};
