/** Validation, admission and controllers: lists that are compared with each other, and texts that are matched. */
import { type Attack, type AttackRequest, json } from "../attack.ts";

const core = "/api/v1/namespaces/default";

function list<T>(count: number, item: (index: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, index) => item(index));
}

function create(path: string, object: () => unknown): AttackRequest {
  return { method: "POST", path, contentType: json, body: () => JSON.stringify(object()) };
}

const container = { name: "c", image: "i" };
const text = (unit: string, length: number): string => unit.repeat(length / unit.length);

function pod(name: string, spec: object, expect: Attack["expect"]): Attack {
  const object = (): object => ({
    metadata: { name: `v-${name.replaceAll(/[^a-z]+/g, "-").replaceAll(/^-|-$/g, "")}` },
    spec: { containers: [container], ...spec },
  });
  return { name: `a pod with ${name}`, requests: [create(`${core}/pods`, object)], expect };
}

const owner = (i: number): object => ({
  apiVersion: "example.com/v1",
  kind: "Unknown",
  name: `p${i}`,
  uid: `u${i}`,
});

function configMap(name: string, metadata: () => object, expect: Attack["expect"]): Attack {
  const object = (): object => ({
    metadata: {
      name: `v-${name.replaceAll(/[^a-z]+/g, "-").replaceAll(/^-|-$/g, "")}`,
      ...metadata(),
    },
  });
  return {
    name: `a ConfigMap with ${name}`,
    requests: [create(`${core}/configmaps`, object)],
    expect,
  };
}

/** Limits of a thousand names, then a pod of a thousand containers. */
const amounts = Object.fromEntries(list(1000, (i) => [`example.com/r${i}`, "1"]));
const limits = (name: string, item: object): AttackRequest =>
  create(`${core}/limitranges`, () => ({
    metadata: { name },
    spec: { limits: [{ type: "Container", ...item }] },
  }));
const crowd = (name: string): AttackRequest =>
  create(`${core}/pods`, () => ({
    metadata: { name },
    spec: { containers: list(1000, (i) => ({ name: `c${i}`, image: "i" })) },
  }));
const lifted = (name: string) => ({ method: "DELETE", path: `${core}/limitranges/${name}` });

export const validateAttacks: readonly Attack[] = [
  configMap("a thousand owners", () => ({ ownerReferences: list(1000, owner) }), 201),
  configMap(
    "4,000 owners that all control it",
    () => ({
      ownerReferences: list(4000, (i) => ({ ...owner(i), controller: true })),
    }),
    422,
  ),
  configMap("4,000 times one owner", () => ({ ownerReferences: list(4000, () => owner(1)) }), 201),
  configMap(
    "owners that the garbage collector asks for",
    () => ({
      ownerReferences: list(4000, (i) => ({ ...owner(i), apiVersion: "v1", kind: "Pod" })),
    }),
    201,
  ),
  configMap("4,000 finalizers that are none", () => ({ finalizers: list(4000, () => "") }), 422),
  configMap(
    "a label of a million characters",
    () => ({ labels: { a: text("a-", 1_000_000) } }),
    422,
  ),
  configMap(
    "annotations that are too long",
    () => ({ annotations: { a: text("é", 1_400_000) } }),
    422,
  ),
  {
    name: "a Secret of 3 MB in base64",
    requests: [
      create(`${core}/secrets`, () => ({
        metadata: { name: "big" },
        data: { a: text("YWFh", 3_000_000) },
      })),
    ],
    expect: 422,
  },
  pod(
    "a quantity of 200,000 digits",
    { containers: [{ ...container, resources: { limits: { cpu: `0.${text("1", 200_000)}x` } } }] },
    [400, 422],
  ),
  pod(
    "a thousand quantities of 200 digits",
    {
      containers: [
        {
          ...container,
          resources: {
            limits: Object.fromEntries(
              list(1000, (i) => [`example.com/r${i}`, `0.${text("1", 190)}x`]),
            ),
          },
        },
      ],
    },
    [400, 422],
  ),
  pod(
    "a quantity with an exponent of a million",
    { containers: [{ ...container, resources: { limits: { cpu: "1e1000000" } } }] },
    [400, 422],
  ),
  pod(
    "4,000 host aliases of one address",
    { hostAliases: list(4000, () => ({ ip: "10.0.0.1", hostnames: ["a"] })) },
    201,
  ),
  pod(
    "4,000 times one variable",
    { containers: [{ ...container, env: list(4000, () => ({ name: "A", value: "b" })) }] },
    201,
  ),
  pod(
    "2,000 devices beside 2,000 mounts",
    {
      containers: [
        {
          ...container,
          volumeMounts: list(2000, (i) => ({ name: `v${i}`, mountPath: `/m${i}` })),
          volumeDevices: list(2000, (i) => ({ name: `w${i}`, devicePath: `/d${i}` })),
        },
      ],
    },
    422,
  ),
  pod("a name of a million characters", { nodeName: text("a.", 1_000_000) }, 422),
  {
    name: "a storage class whose topologies are all the same",
    requests: [
      create("/apis/storage.k8s.io/v1/storageclasses", () => ({
        metadata: { name: "same" },
        provisioner: "a.b/c",
        allowedTopologies: list(2000, () => ({
          matchLabelExpressions: [{ key: "a", values: ["b", "b"] }],
        })),
      })),
    ],
    expect: 422,
  },
  {
    name: "a certificate request of 20,000 usages",
    requests: [
      create("/apis/certificates.k8s.io/v1/certificatesigningrequests", () => ({
        metadata: { name: "usages" },
        spec: {
          request: "YQ==",
          signerName: "example.com/a",
          usages: list(20_000, (i) => `usage${i}`),
        },
      })),
    ],
    expect: [400, 403, 422],
  },
  {
    name: "a cron job whose schedule is long",
    requests: [
      create("/apis/batch/v1/namespaces/default/cronjobs", () => ({
        metadata: { name: "long" },
        spec: {
          schedule: `${text("*/1,", 800_000)}1 * * * *`,
          jobTemplate: {
            spec: { template: { spec: { restartPolicy: "Never", containers: [container] } } },
          },
        },
      })),
    ],
    expect: [201, 422],
  },
  {
    name: "limits of a thousand names against a thousand containers",
    requests: [limits("bounds", { min: amounts }), crowd("bounded"), lifted("bounds")],
    expect: [200, 201, 403, 413],
  },
  {
    name: "defaults of a thousand names for a thousand containers",
    requests: [
      limits("defaults", { defaultRequest: amounts }),
      crowd("filled"),
      lifted("defaults"),
    ],
    expect: [200, 201, 413, 422],
  },
  {
    name: "endpoints of 5,000 addresses",
    requests: [
      create(`${core}/endpoints`, () => ({
        metadata: { name: "many" },
        subsets: [
          {
            addresses: list(5000, (i) => ({ ip: `10.1.${i >> 8}.${i & 255}` })),
            ports: [{ port: 80 }],
          },
        ],
      })),
    ],
    expect: 201,
  },
];
