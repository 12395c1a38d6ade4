/** Admission plugins that are off by default, and some of the default ones turned off: a server of their own. */
import { type Case, patch, post, type Suite } from "../exchange.ts";

type Json = Readonly<Record<string, unknown>>;

const core = "/api/v1/namespaces/{ns}";
const dry = "?dryRun=All";
const alone = { serviceAccountName: "default", automountServiceAccountToken: false };

function object(kind: string, name: string, rest: Json = {}, apiVersion = "v1"): Json {
  return { apiVersion, kind, metadata: { name }, ...rest };
}

function pod(name: string, container: Json = {}, more: Json = {}, meta: Json = {}): Json {
  const containers = [{ name: "c", image: "i", ...container }];
  const spec = { ...alone, containers, ...more };
  return { apiVersion: "v1", kind: "Pod", metadata: { name, ...meta }, spec };
}

const pods = `${core}/pods${dry}`;
/** A stock server sees changed annotations a little later. */
const seen = { waitMs: 1000 };
const annotate = (annotations: Json) =>
  patch("merge", "/api/v1/namespaces/{ns}", { metadata: { annotations } });

const images: Case = {
  name: "AlwaysPullImages",
  steps: [
    post(pods, pod("absent")),
    post(pods, pod("never", { imagePullPolicy: "Never" })),
    post(
      pods,
      pod(
        "init",
        {},
        { initContainers: [{ name: "i", image: "j", imagePullPolicy: "IfNotPresent" }] },
      ),
    ),
    post(
      pods,
      pod(
        "volume",
        {},
        { volumes: [{ name: "v", image: { reference: "r", pullPolicy: "Never" } }] },
      ),
    ),
  ],
};

const selectors: Case = {
  name: "PodNodeSelector",
  steps: [
    post(pods, pod("default")),
    annotate({ "scheduler.alpha.kubernetes.io/node-selector": "zone=a,disk=ssd" }),
    post(pods, pod("merged", {}, { nodeSelector: { arch: "x" } }), seen),
    post(pods, pod("same", {}, { nodeSelector: { zone: "a" } })),
    post(pods, pod("conflict", {}, { nodeSelector: { zone: "b" } })),
    annotate({ "scheduler.alpha.kubernetes.io/node-selector": "zone in" }),
    post(pods, pod("unreadable"), seen),
  ],
};

const tolerations: Case = {
  name: "PodTolerationRestriction",
  steps: [
    annotate({
      "scheduler.alpha.kubernetes.io/defaultTolerations":
        '[{"key":"a","operator":"Exists","effect":"NoSchedule"}]',
      "scheduler.alpha.kubernetes.io/tolerationsWhitelist":
        '[{"key":"a","operator":"Exists","effect":"NoSchedule"},{"key":"node.kubernetes.io/not-ready","operator":"Exists"},{"key":"node.kubernetes.io/unreachable","operator":"Exists"},{"key":"node.kubernetes.io/memory-pressure","operator":"Exists"}]',
    }),
    post(pods, pod("default"), seen),
    post(
      pods,
      pod("same", {}, { tolerations: [{ key: "a", operator: "Exists", effect: "NoSchedule" }] }),
    ),
    post(pods, pod("other", {}, { tolerations: [{ key: "b", operator: "Exists" }] })),
    post(pods, pod("burstable", { resources: { requests: { cpu: "1" } } })),
    annotate({ "scheduler.alpha.kubernetes.io/defaultTolerations": "[" }),
    post(pods, pod("unreadable"), seen),
  ],
};

const extended: Case = {
  name: "ExtendedResourceToleration",
  steps: [
    post(pods, pod("gpu", { resources: { limits: { "example.com/gpu": "1" } } })),
    post(
      pods,
      pod("two", {
        resources: { limits: { "example.com/gpu": "1", "example.com/dsp": "1", cpu: "1" } },
      }),
    ),
    post(
      pods,
      pod(
        "tolerated",
        { resources: { limits: { "example.com/gpu": "1" } } },
        { tolerations: [{ key: "example.com/gpu", operator: "Exists", effect: "NoSchedule" }] },
      ),
    ),
  ],
};

const service = (name: string, more: Json): Json =>
  object("Service", name, { spec: { ports: [{ port: 80 }], ...more } });

const externalIPs: Case = {
  name: "DenyServiceExternalIPs",
  steps: [
    post(`${core}/services${dry}`, service("new", { externalIPs: ["1.2.3.4"] })),
    post(`${core}/services`, service("kept", {})),
    patch("merge", `${core}/services/kept`, { spec: { externalIPs: ["1.2.3.4"] } }),
    patch("merge", `${core}/services/kept`, { metadata: { labels: { a: "b" } } }),
  ],
};

const event = (name: string): Json => ({
  ...object("Event", name, { reason: "R", message: "m", type: "Normal" }),
  involvedObject: { kind: "Pod", name: "p", namespace: "{ns}", apiVersion: "v1" },
});

const events: Case = {
  name: "EventRateLimit",
  steps: ["one", "two", "three"].map((name) => post(`${core}/events${dry}`, event(name))),
};

const owners: Case = {
  name: "OwnerReferencesPermissionEnforcement",
  steps: [
    post(`${core}/configmaps`, object("ConfigMap", "owner")),
    post(`${core}/configmaps${dry}`, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        name: "owned",
        ownerReferences: [
          {
            apiVersion: "v1",
            kind: "ConfigMap",
            name: "owner",
            uid: "owner-1",
            blockOwnerDeletion: true,
          },
        ],
      },
    }),
    post(`${core}/configmaps${dry}`, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        name: "unknown",
        ownerReferences: [
          {
            apiVersion: "no.example.com/v1",
            kind: "None",
            name: "n",
            uid: "u",
            blockOwnerDeletion: true,
          },
        ],
      },
    }),
  ],
};

const restricted = "/api/v1/namespaces/{ns}/configmaps?dryRun=All";
const impersonated: Case = {
  name: "OwnerReferencesPermissionEnforcement for a user with few rights",
  steps: [
    post("/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings", {
      ...object("RoleBinding", "writer", {}, "rbac.authorization.k8s.io/v1"),
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "writer" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "writer" }],
    }),
    post("/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles", {
      ...object("Role", "writer", {}, "rbac.authorization.k8s.io/v1"),
      rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["create", "update", "patch"] }],
    }),
    post(
      restricted,
      {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: {
          name: "owned",
          ownerReferences: [
            {
              apiVersion: "apps/v1",
              kind: "Deployment",
              name: "d",
              uid: "u",
              blockOwnerDeletion: true,
            },
          ],
        },
      },
      { headers: { "impersonate-user": "writer" }, waitMs: 1500 },
    ),
    post(
      restricted,
      {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: {
          name: "free",
          ownerReferences: [{ apiVersion: "apps/v1", kind: "Deployment", name: "d", uid: "u" }],
        },
      },
      { headers: { "impersonate-user": "writer" } },
    ),
  ],
};

const disabled: Case = {
  name: "plugins that are turned off",
  steps: [
    post(pods, pod("priority", {}, { priorityClassName: "nowhere" })),
    post(
      `${core}/persistentvolumeclaims${dry}`,
      object("PersistentVolumeClaim", "claim", {
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
      }),
    ),
    post(pods, pod("missing-account", {}, { serviceAccountName: "nobody" })),
  ],
};

const topology: Case = {
  name: "PodTopologyLabels",
  steps: [
    post("/api/v1/nodes", {
      apiVersion: "v1",
      kind: "Node",
      metadata: {
        name: "topology-node",
        labels: {
          "topology.kubernetes.io/zone": "a",
          "topology.kubernetes.io/region": "b",
          other: "c",
        },
      },
    }),
    post(
      `${core}/pods`,
      pod("bound", {}, { tolerations: [{ key: "a", operator: "Exists", effect: "NoSchedule" }] }),
    ),
    post(`${core}/pods/bound/binding${dry}`, {
      ...object("Binding", "bound"),
      target: { apiVersion: "v1", kind: "Node", name: "topology-node" },
    }),
  ],
};

const group = "apiserver.config.k8s.io/v1";
const eventLimits = {
  apiVersion: "eventratelimit.admission.k8s.io/v1alpha1",
  kind: "Configuration",
  limits: [{ type: "Namespace", qps: 1, burst: 1, cacheSize: 100 }],
};
const nodeSelectors = {
  podNodeSelectorPluginConfig: { clusterDefaultNodeSelector: "cluster=yes" },
};

export const plugins: Suite = {
  name: "plugins",
  cases: [
    images,
    selectors,
    tolerations,
    extended,
    externalIPs,
    events,
    owners,
    impersonated,
    disabled,
    topology,
  ],
  admission: {
    enable: [
      "AlwaysPullImages",
      "PodNodeSelector",
      "PodTolerationRestriction",
      "ExtendedResourceToleration",
      "DenyServiceExternalIPs",
      "EventRateLimit",
      "OwnerReferencesPermissionEnforcement",
    ],
    disable: ["ServiceAccount", "DefaultStorageClass"],
    configuration: {
      apiVersion: group,
      kind: "AdmissionConfiguration",
      plugins: [
        { name: "EventRateLimit", configuration: eventLimits },
        { name: "PodNodeSelector", configuration: nodeSelectors },
      ],
    },
  },
};
