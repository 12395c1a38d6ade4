/** Selectors: in queries, in objects that controllers hold against pods, and in policies. */
import { type Attack, type AttackRequest, json } from "../attack.ts";

const core = "/api/v1/namespaces/default";
const apps = "/apis/apps/v1/namespaces/default";

function words(count: number, prefix: string): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}`);
}

function create(path: string, object: () => unknown): AttackRequest {
  return { method: "POST", path, contentType: json, body: () => JSON.stringify(object()) };
}

function query(selector: string): AttackRequest {
  return { method: "GET", path: `${core}/pods?${selector}` };
}

/** Requests between which the controllers do what they have to. */
const waits: readonly AttackRequest[] = Array.from({ length: 10 }, () => ({
  method: "GET",
  path: "/api/v1/namespaces/default",
}));

const container = { name: "c", image: "i" };
const values = words(50_000, "v");
const selector = { matchExpressions: [{ key: "app", operator: "NotIn", values }] };

export const selectAttacks: readonly Attack[] = [
  {
    name: "a label selector of 8,000 values",
    requests: [
      query(`labelSelector=${encodeURIComponent(`a in (${words(8000, "v").join(",")})`)}`),
    ],
    expect: [200, 431],
  },
  {
    name: "a label selector of 8,000 requirements",
    requests: [query(`labelSelector=${words(8000, "k").join(",")}`)],
    expect: [200, 431],
  },
  {
    name: "a field selector of thousands of terms",
    requests: [query(`fieldSelector=${words(3000, "metadata.name!=p").join(",")}`)],
    expect: [200, 400, 431],
  },
  {
    name: "a deployment whose selector has 50,000 values",
    requests: [
      create(`${apps}/deployments`, () => ({
        metadata: { name: "values" },
        spec: {
          selector,
          template: { metadata: { labels: { app: "x" } }, spec: { containers: [container] } },
        },
      })),
      ...waits,
    ],
    expect: [200, 201, 413],
  },
  {
    name: "a network policy of 50,000 values",
    requests: [
      create("/apis/networking.k8s.io/v1/namespaces/default/networkpolicies", () => ({
        metadata: { name: "values" },
        spec: { podSelector: selector, policyTypes: ["Ingress"] },
      })),
    ],
    expect: [201, 413],
  },
  {
    name: "a budget whose selector has 50,000 values",
    requests: [
      create("/apis/policy/v1/namespaces/default/poddisruptionbudgets", () => ({
        metadata: { name: "values" },
        spec: { selector, minAvailable: 1 },
      })),
      ...waits,
    ],
    expect: [200, 201, 413],
  },
  {
    name: "a service that selects by 4,000 labels",
    requests: [
      create(`${core}/services`, () => ({
        metadata: { name: "labels" },
        spec: {
          selector: Object.fromEntries(words(4000, "l").map((name) => [name, "v"])),
          ports: [{ port: 80 }],
        },
      })),
      ...waits,
    ],
    expect: [200, 201],
  },
  {
    name: "a pod with 5,000 node selector terms",
    requests: [
      create(`${core}/pods`, () => ({
        metadata: { name: "terms" },
        spec: {
          containers: [container],
          affinity: {
            nodeAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: {
                nodeSelectorTerms: words(5000, "t").map((key) => ({
                  matchExpressions: [{ key, operator: "In", values: ["x"] }],
                })),
              },
            },
          },
        },
      })),
      ...waits,
    ],
    expect: [200, 201],
  },
  {
    name: "a pod with 5,000 anti-affinity terms",
    requests: [
      create(`${core}/pods`, () => ({
        metadata: { name: "anti" },
        spec: {
          containers: [container],
          affinity: {
            podAntiAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: words(5000, "t").map((key) => ({
                topologyKey: "kubernetes.io/hostname",
                labelSelector: { matchLabels: { [key.slice(0, 3)]: "x" } },
              })),
            },
          },
        },
      })),
      ...waits,
    ],
    expect: [200, 201],
  },
  {
    name: "a pod with 10,000 tolerations",
    requests: [
      create(`${core}/pods`, () => ({
        metadata: { name: "tolerations" },
        spec: {
          containers: [container],
          tolerations: words(10_000, "t").map((key) => ({ key, operator: "Exists" })),
        },
      })),
      ...waits,
    ],
    expect: [200, 201],
  },
  {
    name: "a pod with 4,000 spread constraints that are all the same",
    requests: [
      create(`${core}/pods`, () => ({
        metadata: { name: "spread" },
        spec: {
          containers: [container],
          topologySpreadConstraints: words(4000, "t").map(() => ({
            maxSkew: 1,
            topologyKey: "a",
            whenUnsatisfiable: "DoNotSchedule",
          })),
        },
      })),
    ],
    expect: [400, 413, 422],
  },
];
