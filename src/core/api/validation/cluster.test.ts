/** Findings about networking, RBAC, scaling, webhooks, definitions, certificates, classes. */
import { test } from "node:test";
import assert from "node:assert/strict";
import { onCreate, onUpdate, warnings } from "./testing/findings.ts";

type Case = readonly [string, string, readonly string[]];

const network = (kind: string, spec: string, metadata = "{name: n}"): string =>
  `{apiVersion: networking.k8s.io/v1, kind: ${kind}, metadata: ${metadata}, spec: {${spec}}}`;
const rbac = (kind: string, fields: string): string =>
  `{apiVersion: rbac.authorization.k8s.io/v1, kind: ${kind}, metadata: {name: r}, ${fields}}`;
const scaler = (spec: string): string =>
  `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: d}, ${spec}}}`;
const webhook = (fields: string): string =>
  `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: w}, webhooks: [{name: a.b.example, sideEffects: None, admissionReviewVersions: [v1], ${fields}}]}`;
const definition = (fields: string, versions: string): string =>
  `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: foos.example.com}, spec: {group: example.com, scope: Namespaced, names: {plural: foos, kind: Foo}, versions: [${versions}] ${fields}}}`;
const version = (name: string, storage: boolean): string =>
  `{name: ${name}, served: true, storage: ${String(storage)}, schema: {openAPIV3Schema: {type: object}}}`;
const signing = (fields: string): string =>
  `{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, metadata: {name: c}, spec: {request: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0=, ${fields}}}`;

const backend = "{service: {name: s, port: {number: 80}}}";

const cases: readonly Case[] = [
  ["A plain ingress is fine", network("Ingress", `defaultBackend: ${backend}`), []],
  [
    "An ingress leads somewhere",
    network("Ingress", "rules: []"),
    ["spec: Invalid value: []: either `defaultBackend` or `rules` must be specified"],
  ],
  [
    "A path has a type",
    network("Ingress", `rules: [{http: {paths: [{path: /, backend: ${backend}}]}}]`),
    ["spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified"],
  ],
  [
    "A prefix is absolute",
    network(
      "Ingress",
      `rules: [{http: {paths: [{path: a//b, pathType: Prefix, backend: ${backend}}]}}]`,
    ),
    [
      'spec.rules[0].http.paths[0].path: Invalid value: "a//b": must be an absolute path',
      "spec.rules[0].http.paths[0].path: Invalid value: \"a//b\": must not contain '//'",
    ],
  ],
  [
    "A host is no address",
    network("Ingress", `rules: [{host: 10.0.0.1}], defaultBackend: ${backend}`),
    ['spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address'],
  ],
  [
    "A network policy names peers of one kind",
    network(
      "NetworkPolicy",
      "podSelector: {}, ingress: [{from: [{podSelector: {}, ipBlock: {cidr: 10.0.0.0/8}}]}]",
    ),
    ["spec.ingress[0].from[0]: Forbidden: may not specify both ipBlock and another peer"],
  ],
  [
    "Exceptions lie inside",
    network(
      "NetworkPolicy",
      "podSelector: {}, egress: [{to: [{ipBlock: {cidr: 10.0.0.0/8, except: [11.0.0.0/16]}}]}]",
    ),
    [
      'spec.egress[0].to[0].ipBlock.except[0]: Invalid value: "11.0.0.0/16": must be a strict subset of `cidr`',
    ],
  ],
  [
    "A rule grants something",
    rbac("Role", "rules: [{verbs: [get]}]"),
    [
      "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
      "rules[0].resources: Required value: resource rules must supply at least one resource",
    ],
  ],
  [
    "Paths are the cluster's",
    rbac("Role", "rules: [{verbs: [get], nonResourceURLs: [/healthz]}]"),
    [
      'rules[0].nonResourceURLs: Invalid value: ["/healthz"]: namespaced rules cannot apply to non-resource URLs',
    ],
  ],
  [
    "A cluster binding binds cluster roles",
    rbac("ClusterRoleBinding", "roleRef: {kind: Role, name: r}, subjects: [{kind: User, name: u}]"),
    ['roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"'],
  ],
  [
    "A nameless subject is one finding",
    rbac("ClusterRoleBinding", "roleRef: {kind: ClusterRole, name: r}, subjects: [{kind: User}]"),
    ["subjects[0].name: Required value"],
  ],
  [
    "What gathers roles is a selector",
    "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}, aggregationRule: {clusterRoleSelectors: [{matchExpressions: [{key: a, operator: X}]}]}}",
    [
      'aggregationRule.clusterRoleSelectors[0].matchExpressions[0].operator: Invalid value: "X": not a valid selector operator',
      "aggregationRule.clusterRoleSelectors[0]: Invalid value: null: invalid label selector.",
    ],
  ],
  [
    "One level is exempt",
    "{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: PriorityLevelConfiguration, metadata: {name: p}, spec: {type: Exempt}}",
    ["spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is 'exempt'"],
  ],
  ["A plain autoscaler is fine", scaler("maxReplicas: 3"), []],
  [
    "An autoscaler scales up to something",
    scaler("minReplicas: 2, maxReplicas: 1"),
    ["spec.maxReplicas: Invalid value: 1: must be greater than or equal to `minReplicas`"],
  ],
  [
    "A metric is of its type",
    scaler(
      "maxReplicas: 1, metrics: [{type: Pods, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]",
    ),
    ["spec.metrics[0].pods: Required value: must populate information for the given metric source"],
  ],
  [
    "A budget says one thing",
    "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b}, spec: {minAvailable: 1, maxUnavailable: 200%}}",
    [
      'spec: Invalid value: {"MinAvailable":1,"Selector":null,"MaxUnavailable":"200%","UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set',
      'spec.maxUnavailable: Invalid value: "200%": must not be greater than 100%',
    ],
  ],
  [
    "Users' priorities are below the system's",
    "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: p}, value: 2000000000}",
    ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"],
  ],
  [
    "The system's names are the system's",
    "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: system-mine}, value: 1}",
    [
      "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-mine is not a known system priority class",
    ],
  ],
  [
    "A webhook is somewhere",
    webhook("clientConfig: {}"),
    ["webhooks[0].clientConfig: Required value: exactly one of url or service is required"],
  ],
  [
    "A webhook is called safely",
    webhook("clientConfig: {url: 'http://a.example/x'}"),
    [
      "webhooks[0].clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
    ],
  ],
  [
    "A webhook answers within half a minute",
    webhook("clientConfig: {url: 'https://a.example/x'}, timeoutSeconds: 31"),
    [
      "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
    ],
  ],
  ["A plain definition is fine", definition("", version("v1", true)), []],
  [
    "A definition stores one version",
    definition("", `${version("v1", true)}, ${version("v2", true)}`).replace(
      /schema: \{[^}]*\}\}/g,
      "schema: {openAPIV3Schema: {}}",
    ),
    [
      'spec.versions: Invalid value: [{"Name":"v1","Served":true,"Storage":true,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null},{"Name":"v2","Served":true,"Storage":true,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}]: must have exactly one version marked as storage version',
      "spec.validation.openAPIV3Schema.type: Required value: must not be empty at the root",
      'status.storedVersions: Invalid value: ["v1"]: must have the storage version v2',
    ],
  ],
  [
    "A request is for something",
    signing("signerName: example.com/s"),
    ["spec.usages: Required value"],
  ],
  [
    "Certificates last ten minutes",
    signing("signerName: example.com/s, usages: [client auth], expirationSeconds: 60"),
    [
      "spec.expirationSeconds: Invalid value: 60: may not specify a duration less than 600 seconds (10 minutes)",
    ],
  ],
  [
    "A signer has a domain and a path",
    signing("signerName: local/S, usages: [client auth]"),
    [
      'spec.signerName: Invalid value: "local": should be a domain with at least two segments separated by dots',
      `spec.signerName: Invalid value: "S": validating label "S": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
  ],
  [
    "The signer of old is refused",
    signing("signerName: kubernetes.io/legacy-unknown, usages: [client auth]"),
    [
      'spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed via this API version',
    ],
  ],
  [
    "An API service is called after what it serves",
    "{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: x}, spec: {group: a.example, version: v1, groupPriorityMinimum: 1, versionPriority: 1}}",
    ['metadata.name: Invalid value: "x": must be `spec.version+"."+spec.group`: "v1.a.example"'],
  ],
  [
    "A class provisions with something",
    "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: s}}",
    ["provisioner: Required value"],
  ],
];

for (const [name, yaml, expected] of cases) {
  test(name, () => assert.deepEqual(onCreate(yaml), expected));
}

function serviceRange(cidrs: string): string {
  return `{apiVersion: networking.k8s.io/v1, kind: ServiceCIDR, metadata: {name: s}, spec: {cidrs: ${cidrs}}}`;
}

function localVolume(more: string, label: string): string {
  const terms = `nodeSelectorTerms: [{matchExpressions: [{key: ${label}, operator: Exists}]}]`;
  const spec = `capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /a}, nodeAffinity: {required: {${terms}}}, ${more}`;
  return `{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, spec: {${spec}}}`;
}

const updates: readonly (readonly [string, string, string, string, readonly string[]])[] = [
  [
    "A binding keeps its role",
    rbac("RoleBinding", "roleRef: {kind: Role, name: a, apiGroup: rbac.authorization.k8s.io}"),
    rbac("RoleBinding", "roleRef: {kind: Role, name: b, apiGroup: rbac.authorization.k8s.io}"),
    "",
    [
      'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"b"}: cannot change roleRef',
    ],
  ],
  [
    "A priority keeps its value",
    "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: p}, value: 1}",
    "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: p}, value: 2}",
    "",
    ["value: Forbidden: may not be changed in an update."],
  ],
  [
    "A class keeps its parameters",
    "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: s}, provisioner: a.b/c}",
    "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: s}, provisioner: a.b/c, parameters: {x: y}}",
    "",
    ['parameters: Invalid value: {"x":"y"}: field is immutable'],
  ],
  [
    "A class keeps its provisioner and what it does with volumes",
    "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: s}, provisioner: a.b/c}",
    "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: s}, provisioner: a.b/d, reclaimPolicy: Retain}",
    "",
    [
      'provisioner: Invalid value: "a.b/d": field is immutable',
      'reclaimPolicy: Invalid value: "Retain": field is immutable',
    ],
  ],
  [
    "An address keeps its owner, shown as Go's struct",
    "{apiVersion: networking.k8s.io/v1, kind: IPAddress, metadata: {name: 10.0.0.1}, spec: {parentRef: {resource: services, name: a, namespace: b}}}",
    "{apiVersion: networking.k8s.io/v1, kind: IPAddress, metadata: {name: 10.0.0.1}, spec: {parentRef: {resource: services, name: c, namespace: b}}}",
    "",
    [
      'spec.parentRef: Invalid value: {"Group":"","Resource":"services","Namespace":"b","Name":"c"}: field is immutable',
    ],
  ],
  ...(
    [
      ["[10.8.0.0/24]", ['spec.cidrs[0]: Invalid value: "10.8.0.0/24": field is immutable']],
      [
        '["fd00::/112", 10.8.0.0/24]',
        ['spec.cidrs[0]: Invalid value: "fd00::/112": field is immutable'],
      ],
      ["[x, y, z]", ['spec.cidrs: Invalid value: ["x","y","z"]: field is immutable']],
    ] as const
  ).map(
    ([ranges, findings]) =>
      [
        `A range of Services stays: ${ranges}`,
        serviceRange("[10.9.0.0/24]"),
        serviceRange(ranges),
        "",
        findings,
      ] as const,
  ),
  [
    "A volume keeps its mode, and its nodes shown as Go's struct",
    localVolume("volumeMode: Filesystem", "a"),
    localVolume("volumeMode: Block", "b"),
    "",
    [
      'volumeMode: Invalid value: "Block": field is immutable',
      'nodeAffinity: Invalid value: {"Required":{"NodeSelectorTerms":[{"MatchExpressions":[{"Key":"b","Operator":"Exists","Values":null}],"MatchFields":null}]}}: field is immutable, except for updating from beta label to GA',
    ],
  ],
  [
    "Approval has a door of its own",
    signing("signerName: example.com/s, usages: [client auth]"),
    `{${signing("signerName: example.com/s, usages: [client auth]").slice(1, -1)}, status: {conditions: [{type: Approved, status: "True"}]}}`,
    "status",
    ['status.conditions: Forbidden: updates may not add a condition of type "Approved"'],
  ],
  [
    "Approvers approve",
    signing("signerName: example.com/s, usages: [client auth]"),
    `{${signing("signerName: example.com/s, usages: [client auth]").slice(1, -1)}, status: {conditions: [{type: Approved, status: "True"}]}}`,
    "approval",
    [],
  ],
];

for (const [name, old, next, subresource, expected] of updates) {
  test(name, () => assert.deepEqual(onUpdate(old, next, subresource), expected));
}

test("The old way to name an ingress class earns a warning", () => {
  const metadata = "{name: n, annotations: {kubernetes.io/ingress.class: nginx}}";
  assert.deepEqual(warnings(network("Ingress", `defaultBackend: ${backend}`, metadata)), [
    "annotation \"kubernetes.io/ingress.class\" is deprecated, please use 'spec.ingressClassName' instead",
  ]);
});
