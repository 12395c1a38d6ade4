/**
 * Every resource that a Kubernetes 1.36 API server knows: 95 rows in 36 group-versions, as data.
 *
 * A row is written in shorthand (`Row`) and expanded once by `resources.ts`. Rows are ordered by
 * group-version, then by name, which is the order of discovery. `resources.test.ts` checks them against the published
 * paths of a real server.
 */

export interface ResourceRow {
  readonly resource: string;
  readonly kind: string;
  readonly cluster?: true;
  /** Absent: all eight. */
  readonly verbs?: "create" | "read" | "no-collection-delete";
  readonly short?: readonly string[];
  readonly categories?: readonly string[];
  /** Whether it has `status` with get, patch, update. */
  readonly status?: true;
  readonly subresources?: readonly SubresourceRow[];
  /** Storage version within the same group and resource; absent: its own version. */
  readonly storedAs?: string;
}

export interface SubresourceRow {
  readonly name: string;
  /** Absent: the resource's own kind. */
  readonly kind?: string;
  /** Such as `autoscaling/v1`, when the kind belongs to another group-version. */
  readonly of?: string;
  readonly verbs: "update" | "create" | "get" | "connect" | "proxy" | "read-write";
}

interface GroupVersionRows {
  readonly group: string;
  readonly version: string;
  readonly rows: readonly ResourceRow[];
}

const scale: SubresourceRow = {
  name: "scale",
  kind: "Scale",
  of: "autoscaling/v1",
  verbs: "read-write",
};
const all = ["all"];
const extensions = ["api-extensions"];

const coreRows: readonly ResourceRow[] = [
  { resource: "bindings", kind: "Binding", verbs: "create" },
  {
    resource: "componentstatuses",
    kind: "ComponentStatus",
    cluster: true,
    verbs: "read",
    short: ["cs"],
  },
  { resource: "configmaps", kind: "ConfigMap", short: ["cm"] },
  { resource: "endpoints", kind: "Endpoints", short: ["ep"] },
  { resource: "events", kind: "Event", short: ["ev"] },
  { resource: "limitranges", kind: "LimitRange", short: ["limits"] },
  {
    resource: "namespaces",
    kind: "Namespace",
    cluster: true,
    verbs: "no-collection-delete",
    short: ["ns"],
    status: true,
    subresources: [{ name: "finalize", verbs: "update" }],
  },
  {
    resource: "nodes",
    kind: "Node",
    cluster: true,
    short: ["no"],
    status: true,
    subresources: [{ name: "proxy", kind: "NodeProxyOptions", verbs: "proxy" }],
  },
  {
    resource: "persistentvolumeclaims",
    kind: "PersistentVolumeClaim",
    short: ["pvc"],
    status: true,
  },
  {
    resource: "persistentvolumes",
    kind: "PersistentVolume",
    cluster: true,
    short: ["pv"],
    status: true,
  },
  {
    resource: "pods",
    kind: "Pod",
    short: ["po"],
    categories: all,
    status: true,
    subresources: [
      { name: "attach", kind: "PodAttachOptions", verbs: "connect" },
      { name: "binding", kind: "Binding", verbs: "create" },
      { name: "ephemeralcontainers", verbs: "read-write" },
      { name: "eviction", kind: "Eviction", of: "policy/v1", verbs: "create" },
      { name: "exec", kind: "PodExecOptions", verbs: "connect" },
      { name: "log", verbs: "get" },
      { name: "portforward", kind: "PodPortForwardOptions", verbs: "connect" },
      { name: "proxy", kind: "PodProxyOptions", verbs: "proxy" },
      { name: "resize", verbs: "read-write" },
    ],
  },
  { resource: "podtemplates", kind: "PodTemplate" },
  {
    resource: "replicationcontrollers",
    kind: "ReplicationController",
    short: ["rc"],
    categories: all,
    status: true,
    subresources: [scale],
  },
  { resource: "resourcequotas", kind: "ResourceQuota", short: ["quota"], status: true },
  { resource: "secrets", kind: "Secret" },
  {
    resource: "serviceaccounts",
    kind: "ServiceAccount",
    short: ["sa"],
    subresources: [
      { name: "token", kind: "TokenRequest", of: "authentication.k8s.io/v1", verbs: "create" },
    ],
  },
  {
    resource: "services",
    kind: "Service",
    short: ["svc"],
    categories: all,
    status: true,
    subresources: [{ name: "proxy", kind: "ServiceProxyOptions", verbs: "proxy" }],
  },
];

function mutatingPolicyRows(storedAs?: string): readonly ResourceRow[] {
  const stored = storedAs === undefined ? {} : { storedAs };
  return [
    {
      resource: "mutatingadmissionpolicies",
      kind: "MutatingAdmissionPolicy",
      cluster: true,
      categories: extensions,
      ...stored,
    },
    {
      resource: "mutatingadmissionpolicybindings",
      kind: "MutatingAdmissionPolicyBinding",
      cluster: true,
      categories: extensions,
      ...stored,
    },
  ];
}

const admissionRows: readonly ResourceRow[] = [
  ...mutatingPolicyRows(),
  {
    resource: "mutatingwebhookconfigurations",
    kind: "MutatingWebhookConfiguration",
    cluster: true,
    categories: extensions,
  },
  {
    resource: "validatingadmissionpolicies",
    kind: "ValidatingAdmissionPolicy",
    cluster: true,
    categories: extensions,
    status: true,
  },
  {
    resource: "validatingadmissionpolicybindings",
    kind: "ValidatingAdmissionPolicyBinding",
    cluster: true,
    categories: extensions,
  },
  {
    resource: "validatingwebhookconfigurations",
    kind: "ValidatingWebhookConfiguration",
    cluster: true,
    categories: extensions,
  },
];

const appsRows: readonly ResourceRow[] = [
  { resource: "controllerrevisions", kind: "ControllerRevision" },
  { resource: "daemonsets", kind: "DaemonSet", short: ["ds"], categories: all, status: true },
  {
    resource: "deployments",
    kind: "Deployment",
    short: ["deploy"],
    categories: all,
    status: true,
    subresources: [scale],
  },
  {
    resource: "replicasets",
    kind: "ReplicaSet",
    short: ["rs"],
    categories: all,
    status: true,
    subresources: [scale],
  },
  {
    resource: "statefulsets",
    kind: "StatefulSet",
    short: ["sts"],
    categories: all,
    status: true,
    subresources: [scale],
  },
];

const autoscalerRow: ResourceRow = {
  resource: "horizontalpodautoscalers",
  kind: "HorizontalPodAutoscaler",
  short: ["hpa"],
  categories: all,
  status: true,
  storedAs: "v2",
};

const serviceNetworkRows: readonly ResourceRow[] = [
  { resource: "ipaddresses", kind: "IPAddress", cluster: true, short: ["ip"], storedAs: "v1" },
  { resource: "servicecidrs", kind: "ServiceCIDR", cluster: true, status: true, storedAs: "v1" },
];

const deviceRows: readonly ResourceRow[] = [
  { resource: "deviceclasses", kind: "DeviceClass", cluster: true, storedAs: "v1" },
  { resource: "resourceclaims", kind: "ResourceClaim", status: true, storedAs: "v1" },
  { resource: "resourceclaimtemplates", kind: "ResourceClaimTemplate", storedAs: "v1" },
  { resource: "resourceslices", kind: "ResourceSlice", cluster: true, storedAs: "v1" },
];
const taintRuleRow: ResourceRow = {
  resource: "devicetaintrules",
  kind: "DeviceTaintRule",
  cluster: true,
  status: true,
  storedAs: "v1beta2",
};

const bundleRow: ResourceRow = {
  resource: "clustertrustbundles",
  kind: "ClusterTrustBundle",
  cluster: true,
  storedAs: "v1beta1",
};
const candidateRow: ResourceRow = {
  resource: "leasecandidates",
  kind: "LeaseCandidate",
  storedAs: "v1beta1",
};
const attributesClassRow: ResourceRow = {
  resource: "volumeattributesclasses",
  kind: "VolumeAttributesClass",
  cluster: true,
  short: ["vac"],
  storedAs: "v1",
};

export const groupVersionRows: readonly GroupVersionRows[] = [
  { group: "", version: "v1", rows: coreRows },
  { group: "admissionregistration.k8s.io", version: "v1", rows: admissionRows },
  {
    group: "admissionregistration.k8s.io",
    version: "v1alpha1",
    rows: mutatingPolicyRows("v1"),
  },
  { group: "admissionregistration.k8s.io", version: "v1beta1", rows: mutatingPolicyRows("v1") },
  {
    group: "apiextensions.k8s.io",
    version: "v1",
    rows: [
      {
        resource: "customresourcedefinitions",
        kind: "CustomResourceDefinition",
        cluster: true,
        short: ["crd", "crds"],
        categories: extensions,
        status: true,
      },
    ],
  },
  {
    group: "apiregistration.k8s.io",
    version: "v1",
    rows: [
      {
        resource: "apiservices",
        kind: "APIService",
        cluster: true,
        categories: extensions,
        status: true,
      },
    ],
  },
  { group: "apps", version: "v1", rows: appsRows },
  {
    group: "authentication.k8s.io",
    version: "v1",
    rows: [
      {
        resource: "selfsubjectreviews",
        kind: "SelfSubjectReview",
        cluster: true,
        verbs: "create",
      },
      { resource: "tokenreviews", kind: "TokenReview", cluster: true, verbs: "create" },
    ],
  },
  {
    group: "authorization.k8s.io",
    version: "v1",
    rows: [
      {
        resource: "localsubjectaccessreviews",
        kind: "LocalSubjectAccessReview",
        verbs: "create",
      },
      {
        resource: "selfsubjectaccessreviews",
        kind: "SelfSubjectAccessReview",
        cluster: true,
        verbs: "create",
      },
      {
        resource: "selfsubjectrulesreviews",
        kind: "SelfSubjectRulesReview",
        cluster: true,
        verbs: "create",
      },
      {
        resource: "subjectaccessreviews",
        kind: "SubjectAccessReview",
        cluster: true,
        verbs: "create",
      },
    ],
  },
  { group: "autoscaling", version: "v1", rows: [autoscalerRow] },
  { group: "autoscaling", version: "v2", rows: [autoscalerRow] },
  {
    group: "batch",
    version: "v1",
    rows: [
      { resource: "cronjobs", kind: "CronJob", short: ["cj"], categories: all, status: true },
      { resource: "jobs", kind: "Job", categories: all, status: true },
    ],
  },
  {
    group: "certificates.k8s.io",
    version: "v1",
    rows: [
      {
        resource: "certificatesigningrequests",
        kind: "CertificateSigningRequest",
        cluster: true,
        short: ["csr"],
        status: true,
        subresources: [{ name: "approval", verbs: "read-write" }],
      },
    ],
  },
  { group: "certificates.k8s.io", version: "v1alpha1", rows: [bundleRow] },
  {
    group: "certificates.k8s.io",
    version: "v1beta1",
    rows: [
      bundleRow,
      { resource: "podcertificaterequests", kind: "PodCertificateRequest", status: true },
    ],
  },
  {
    group: "coordination.k8s.io",
    version: "v1",
    rows: [{ resource: "leases", kind: "Lease" }],
  },
  { group: "coordination.k8s.io", version: "v1alpha2", rows: [candidateRow] },
  { group: "coordination.k8s.io", version: "v1beta1", rows: [candidateRow] },
  {
    group: "discovery.k8s.io",
    version: "v1",
    rows: [{ resource: "endpointslices", kind: "EndpointSlice" }],
  },
  {
    group: "events.k8s.io",
    version: "v1",
    rows: [{ resource: "events", kind: "Event", short: ["ev"] }],
  },
  {
    group: "flowcontrol.apiserver.k8s.io",
    version: "v1",
    rows: [
      { resource: "flowschemas", kind: "FlowSchema", cluster: true, status: true },
      {
        resource: "prioritylevelconfigurations",
        kind: "PriorityLevelConfiguration",
        cluster: true,
        status: true,
      },
    ],
  },
  {
    group: "internal.apiserver.k8s.io",
    version: "v1alpha1",
    rows: [{ resource: "storageversions", kind: "StorageVersion", cluster: true, status: true }],
  },
  {
    group: "networking.k8s.io",
    version: "v1",
    rows: [
      { resource: "ingressclasses", kind: "IngressClass", cluster: true },
      { resource: "ingresses", kind: "Ingress", short: ["ing"], status: true },
      ...serviceNetworkRows,
      { resource: "networkpolicies", kind: "NetworkPolicy", short: ["netpol"] },
    ],
  },
  { group: "networking.k8s.io", version: "v1beta1", rows: serviceNetworkRows },
  {
    group: "node.k8s.io",
    version: "v1",
    rows: [{ resource: "runtimeclasses", kind: "RuntimeClass", cluster: true }],
  },
  {
    group: "policy",
    version: "v1",
    rows: [
      {
        resource: "poddisruptionbudgets",
        kind: "PodDisruptionBudget",
        short: ["pdb"],
        status: true,
      },
    ],
  },
  {
    group: "rbac.authorization.k8s.io",
    version: "v1",
    rows: [
      { resource: "clusterrolebindings", kind: "ClusterRoleBinding", cluster: true },
      { resource: "clusterroles", kind: "ClusterRole", cluster: true },
      { resource: "rolebindings", kind: "RoleBinding" },
      { resource: "roles", kind: "Role" },
    ],
  },
  { group: "resource.k8s.io", version: "v1", rows: deviceRows },
  {
    group: "resource.k8s.io",
    version: "v1alpha3",
    rows: [
      taintRuleRow,
      {
        resource: "resourcepoolstatusrequests",
        kind: "ResourcePoolStatusRequest",
        cluster: true,
        status: true,
      },
    ],
  },
  { group: "resource.k8s.io", version: "v1beta1", rows: deviceRows },
  { group: "resource.k8s.io", version: "v1beta2", rows: [...deviceRows, taintRuleRow] },
  {
    group: "scheduling.k8s.io",
    version: "v1",
    rows: [{ resource: "priorityclasses", kind: "PriorityClass", cluster: true, short: ["pc"] }],
  },
  {
    group: "scheduling.k8s.io",
    version: "v1alpha2",
    rows: [
      { resource: "podgroups", kind: "PodGroup", status: true },
      { resource: "workloads", kind: "Workload" },
    ],
  },
  {
    group: "storage.k8s.io",
    version: "v1",
    rows: [
      { resource: "csidrivers", kind: "CSIDriver", cluster: true },
      { resource: "csinodes", kind: "CSINode", cluster: true },
      { resource: "csistoragecapacities", kind: "CSIStorageCapacity" },
      { resource: "storageclasses", kind: "StorageClass", cluster: true, short: ["sc"] },
      { resource: "volumeattachments", kind: "VolumeAttachment", cluster: true, status: true },
      attributesClassRow,
    ],
  },
  { group: "storage.k8s.io", version: "v1beta1", rows: [attributesClassRow] },
  {
    group: "storagemigration.k8s.io",
    version: "v1beta1",
    rows: [
      {
        resource: "storageversionmigrations",
        kind: "StorageVersionMigration",
        cluster: true,
        status: true,
      },
    ],
  },
];
