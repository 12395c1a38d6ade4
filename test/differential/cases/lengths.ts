/** Names, labels and other texts that are one too long: what is said, in bytes or in characters. */
import { get, post, type Case, type Suite } from "../exchange.ts";

const long = (length: number): string => "a".repeat(length);
const wide = (length: number): string => "é".repeat(length);
const core = "/api/v1/namespaces/{ns}";

const names: Case = {
  name: "names of every rule",
  steps: [
    post("/api/v1/namespaces", { metadata: { name: long(64) } }),
    post("/api/v1/nodes", { metadata: { name: long(254) } }),
    post(`${core}/configmaps`, { metadata: { name: long(254) } }),
    post(`${core}/configmaps`, { metadata: { name: wide(127) } }),
    post(`${core}/services`, {
      metadata: { name: long(64) },
      spec: { ports: [{ port: 1 }] },
    }),
    post(`${core}/serviceaccounts`, { metadata: { name: long(254) } }),
    post(`/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles`, {
      metadata: { name: long(300) },
    }),
    post("/apis/storage.k8s.io/v1/storageclasses", {
      metadata: { name: long(254) },
      provisioner: long(64),
    }),
    post("/apis/storage.k8s.io/v1/csidrivers", { metadata: { name: long(64) }, spec: {} }),
    post("/apis/scheduling.k8s.io/v1/priorityclasses", { metadata: { name: long(254) }, value: 1 }),
    post("/apis/apps/v1/namespaces/{ns}/statefulsets", {
      metadata: { name: long(254) },
      spec: {
        serviceName: long(64),
        selector: { matchLabels: { a: "b" } },
        template: {
          metadata: { labels: { a: "b" } },
          spec: { containers: [{ name: "c", image: "i" }] },
        },
      },
    }),
    post("/apis/batch/v1/namespaces/{ns}/cronjobs", {
      metadata: { name: long(53) },
      spec: {
        schedule: "* * * * *",
        jobTemplate: {
          spec: {
            template: {
              spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] },
            },
          },
        },
      },
    }),
    get(`${core}/configmaps?labelSelector=${long(64)}=b`),
    get(`${core}/configmaps?labelSelector=a=${long(64)}`),
    get(`${core}/configmaps?labelSelector=${long(254)}/a=b`),
  ],
};

const metadata: Case = {
  name: "labels, annotations, finalizers and owners",
  steps: [
    { labels: { [long(64)]: "" } },
    { labels: { [`${long(254)}/a`]: "" } },
    { labels: { a: long(64) } },
    { labels: { a: wide(32) } },
    { annotations: { [long(64)]: "" } },
    { annotations: { [`${long(254)}/a`]: "" } },
    { finalizers: [`a.b/${long(64)}`] },
    { finalizers: [`${long(254)}/a`] },
    {
      ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: long(300), uid: long(300) }],
    },
    { managedFields: [{ manager: long(129), operation: "Update", apiVersion: "v1" }] },
  ].map((more) => post(`${core}/configmaps?dryRun=All`, { metadata: { name: "m", ...more } })),
};

const container = { name: "c", image: "i" };
const specs: readonly object[] = [
  { containers: [{ name: long(64), image: "i" }] },
  { containers: [{ ...container, ports: [{ containerPort: 1, name: long(16) }] }] },
  { containers: [{ ...container, env: [{ name: long(300) }] }] },
  {
    containers: [
      {
        ...container,
        env: [{ name: "A", valueFrom: { secretKeyRef: { name: long(254), key: long(254) } } }],
      },
    ],
  },
  { containers: [{ ...container, envFrom: [{ configMapRef: { name: long(254) } }] }] },
  { containers: [container], hostname: long(64), subdomain: long(64) },
  { containers: [container], nodeName: long(254) },
  { containers: [container], schedulerName: long(254) },
  { containers: [container], serviceAccountName: long(254) },
  { containers: [container], priorityClassName: long(254) },
  { containers: [container], volumes: [{ name: long(64), emptyDir: {} }] },
  {
    containers: [container],
    volumes: [
      { name: "v", configMap: { name: long(254), items: [{ key: long(254), path: "p" }] } },
    ],
  },
  { containers: [container], volumes: [{ name: "v", csi: { driver: long(64) } }] },
  { containers: [container], hostAliases: [{ ip: "1.2.3.4", hostnames: [long(254)] }] },
  { containers: [container], nodeSelector: { [long(64)]: long(64) } },
  { containers: [container], tolerations: [{ key: long(64), operator: "Exists" }] },
  { containers: [container], readinessGates: [{ conditionType: long(64) }] },
  { containers: [container], schedulingGates: [{ name: long(64) }] },
  { containers: [container], hostnameOverride: long(65) },
  { containers: [container], resourceClaims: [{ name: long(64), resourceClaimName: long(254) }] },
  {
    containers: [
      {
        ...container,
        resources: { requests: { [`a.b/${long(64)}`]: "1" }, limits: { [`a.b/${long(64)}`]: "1" } },
      },
    ],
  },
  { containers: [{ ...container, livenessProbe: { httpGet: { port: long(16), path: "/" } } }] },
  { containers: [container], dnsConfig: { searches: [long(254)] }, dnsPolicy: "None" },
];

const pods: Case = {
  name: "texts of a pod",
  steps: specs.map((spec) => post(`${core}/pods?dryRun=All`, { metadata: { name: "p" }, spec })),
};

const others: Case = {
  name: "texts of other kinds",
  steps: [
    post(`${core}/configmaps?dryRun=All`, { metadata: { name: "c" }, data: { [long(254)]: "" } }),
    post(`${core}/secrets?dryRun=All`, {
      metadata: { name: "c" },
      stringData: { [long(254)]: "" },
    }),
    post(`${core}/services?dryRun=All`, {
      metadata: { name: "s" },
      spec: {
        ports: [{ port: 1, name: long(64), targetPort: long(16) }],
        externalName: long(254),
        type: "ClusterIP",
      },
    }),
    post(`${core}/services?dryRun=All`, {
      metadata: { name: "s" },
      spec: { externalName: long(254), type: "ExternalName" },
    }),
    post("/apis/resource.k8s.io/v1/deviceclasses?dryRun=All", {
      metadata: { name: long(254) },
      spec: {},
    }),
    post("/apis/networking.k8s.io/v1/namespaces/{ns}/ingresses?dryRun=All", {
      metadata: { name: "i" },
      spec: {
        ingressClassName: long(254),
        rules: [{ host: long(254) }],
        defaultBackend: { service: { name: long(64), port: { name: long(16) } } },
      },
    }),
    post("/apis/networking.k8s.io/v1/ingressclasses?dryRun=All", {
      metadata: { name: "i" },
      spec: { controller: `a.b/${long(250)}` },
    }),
    post("/apis/node.k8s.io/v1/runtimeclasses?dryRun=All", {
      metadata: { name: long(254) },
      handler: long(64),
    }),
    post("/apis/coordination.k8s.io/v1/namespaces/{ns}/leases?dryRun=All", {
      metadata: { name: long(254) },
      spec: {},
    }),
    post("/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices?dryRun=All", {
      metadata: { name: long(254) },
      addressType: "FQDN",
      endpoints: [{ addresses: [long(254)], hostname: long(64), zone: long(64) }],
      ports: [{ name: long(64), port: 1 }],
    }),
  ],
};

export const lengths: Suite = { name: "lengths", cases: [names, metadata, pods, others] };
