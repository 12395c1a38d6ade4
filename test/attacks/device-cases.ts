/** Devices taken without the right to them. The answers of stock 1.36.3 are in answers/devices.json. */
import { given } from "#base/given.ts";
import type { Attack } from "./attacked-plane.ts";
import { mergePatch, n1, patch } from "./node-world.ts";
import type { TitledAttack } from "./recorded.ts";

/** May write claims and their status, and nothing more. */
const eve = { name: "eve", groups: [] };
const claims = "/apis/resource.k8s.io/v1/namespaces/team/resourceclaims";
const templates = "/apis/resource.k8s.io/v1/namespaces/team/resourceclaimtemplates";
const slices = "/apis/resource.k8s.io/v1/resourceslices";
const rbac = "/apis/rbac.authorization.k8s.io/v1";

const devices = (adminAccess: boolean): object => ({
  requests: [{ name: "gpu", exactly: { deviceClassName: "gpus.example.com", adminAccess } }],
});

export const deviceWorld = [
  {
    path: `${rbac}/clusterroles`,
    body: {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "eve" },
      rules: [
        {
          apiGroups: ["resource.k8s.io"],
          resources: ["resourceclaims", "resourceclaims/status", "resourceclaimtemplates"],
          verbs: ["*"],
        },
      ],
    },
  },
  {
    path: `${rbac}/clusterrolebindings`,
    body: {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "eve" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "eve" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "eve" }],
    },
  },
  {
    path: claims,
    body: {
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceClaim",
      metadata: { name: "wanted" },
      spec: { devices: devices(false) },
    },
  },
];

const create =
  (path: string, kind: string, spec: object): (() => Attack) =>
  () => ({
    as: eve,
    method: "POST",
    path: `${path}?dryRun=All`,
    body: { apiVersion: "resource.k8s.io/v1", kind, metadata: { name: "made" }, spec },
  });
const write =
  (path: string, body: object, as?: typeof eve): (() => Attack) =>
  () => ({
    ...given({ as }),
    method: "PATCH",
    path: `${claims}/${path}`,
    body,
    type: mergePatch,
  });
const allocation = {
  devices: {
    results: [{ request: "gpu", driver: "gpus.example.com", pool: "n1", device: "gpu-0" }],
  },
  nodeSelector: {
    nodeSelectorTerms: [
      { matchFields: [{ key: "metadata.name", operator: "In", values: ["n1"] }] },
    ],
  },
};
const report = [{ driver: "gpus.example.com", pool: "n1", device: "gpu-0", data: { a: 1 } }];

/** Refused in both; the text shows Go's structs on a stock server. */
export const changeClaim = write("wanted", { spec: { devices: { requests: null } } }, eve);

export const deviceCases: readonly TitledAttack[] = [
  {
    title: "administrative access",
    attack: create(claims, "ResourceClaim", { devices: devices(true) }),
  },
  {
    title: "administrative access by template",
    attack: create(templates, "ResourceClaimTemplate", { spec: { devices: devices(true) } }),
  },
  { title: "plain access", attack: create(claims, "ResourceClaim", { devices: devices(false) }) },
  { title: "an allocation", attack: write("wanted/status", { status: { allocation } }, eve) },
  {
    title: "administrative access in an allocation",
    attack: write("wanted/status", {
      status: {
        allocation: {
          ...allocation,
          devices: {
            results: allocation.devices.results.map((each) => ({ ...each, adminAccess: true })),
          },
        },
      },
    }),
  },
  {
    title: "an allocation by the administrator",
    attack: write("wanted/status", { status: { allocation } }),
  },
  {
    title: "a report on a device",
    attack: write("wanted/status", { status: { devices: report } }, eve),
  },
  {
    title: "a report by the administrator",
    attack: write("wanted/status", { status: { devices: report } }),
  },
  {
    title: "a report taken away",
    attack: write("wanted/status", { status: { devices: null } }, eve),
  },
  {
    title: "a slice of a node given to another",
    attack: patch(`${slices}/slice-n1`, { spec: { nodeName: "n2" } }),
  },
  {
    title: "a slice of a node given to another driver",
    attack: patch(`${slices}/slice-n1`, { spec: { driver: "nics.example.com" } }),
  },
  {
    title: "a slice seen again",
    attack: () => ({ as: n1, method: "GET", path: `${slices}/slice-n1` }),
  },
];
