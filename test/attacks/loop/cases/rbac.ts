/** Roles, bindings and reviews: what a check per request, an escalation check and an aggregation cost. */
import { type Api, type Attack, type AttackRequest, json } from "../attack.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const reviews = "/apis/authorization.k8s.io/v1";
const group = "rbac.authorization.k8s.io";
/** Who may write roles, and holds what the cases give. */
const writer = { "impersonate-user": "writer", "impersonate-group": "system:authenticated" };

function words(count: number, prefix: string): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}`);
}

function post(path: string, object: () => unknown, headers = {}): AttackRequest {
  return {
    method: "POST",
    path,
    contentType: json,
    headers,
    body: () => JSON.stringify(object()),
  };
}

const role = (name: string, rules: readonly object[], labels: object = {}): object => ({
  metadata: { name, labels },
  rules,
});
const cube = (size: number): object => ({
  apiGroups: words(size, "g"),
  resources: words(size, "r"),
  verbs: words(size, "v"),
});
const narrow = (count: number): readonly object[] =>
  words(count, "g").map((name) => ({ apiGroups: [name], resources: ["a"], verbs: ["get"] }));

const binding = (name: string, roleName: string, users: readonly string[]): object => ({
  metadata: { name },
  roleRef: { apiGroup: group, kind: "ClusterRole", name: roleName },
  subjects: users.map((user) => ({ kind: "User", name: user, apiGroup: group })),
});

/** Makes `writer` hold these rules, and the right to write roles. */
async function give(plane: Api, name: string, rules: readonly object[]): Promise<void> {
  const editor = [
    { apiGroups: [group], resources: ["*"], verbs: ["create", "update", "get"] },
    { apiGroups: ["authorization.k8s.io"], resources: ["*"], verbs: ["create"] },
  ];
  await plane.send(post(`${rbac}/clusterroles`, () => role("writer", editor)));
  await plane.send(
    post(`${rbac}/clusterrolebindings`, () => binding("writer", "writer", ["writer"])),
  );
  if (rules.length === 0) return;
  await plane.send(post(`${rbac}/clusterroles`, () => role(name, rules)));
  await plane.send(post(`${rbac}/clusterrolebindings`, () => binding(name, name, ["writer"])));
}

const halves = [
  { ...cube(150), verbs: words(150, "v").slice(0, 75) },
  { ...cube(150), verbs: words(150, "v").slice(75) },
];

export const rbacAttacks: readonly Attack[] = [
  {
    name: "a role of 150 x 150 x 150 by who holds everything",
    requests: [post(`${rbac}/clusterroles`, () => role("cube-admin", [cube(150)]))],
    expect: 201,
  },
  {
    name: "a role of 150 x 150 x 150 by who holds none of it",
    prepare: (plane) => give(plane, "none", []),
    requests: [post(`${rbac}/clusterroles`, () => role("cube", [cube(150)]), writer)],
    expect: 403,
    says: "is attempting to grant RBAC permissions not currently held",
  },
  {
    name: "a role of 5,000 x 5,000 x 5,000 by who holds none of it",
    prepare: (plane) => give(plane, "none", []),
    requests: [post(`${rbac}/clusterroles`, () => role("huge", [cube(5000)]), writer)],
    expect: 403,
  },
  {
    name: "5,000 URLs of 5,000 verbs by who holds none of it",
    prepare: (plane) => give(plane, "none", []),
    requests: [
      post(
        `${rbac}/clusterroles`,
        () => role("urls", [{ nonResourceURLs: words(5000, "/u"), verbs: words(5000, "v") }]),
        writer,
      ),
    ],
    expect: 403,
  },
  {
    name: "a role of 150 x 150 x 150 by who holds it in two halves",
    prepare: (plane) => give(plane, "halves", halves),
    requests: [post(`${rbac}/clusterroles`, () => role("of-halves", [cube(150)]), writer)],
    expect: 201,
  },
  {
    name: "5,000 rules by who holds 5,000 rules",
    prepare: (plane) => give(plane, "narrow", narrow(5000)),
    requests: [
      post(`${rbac}/clusterroles`, () => role("regiven", narrow(5000).toReversed()), writer),
    ],
    expect: 201,
  },
  {
    name: "a binding to 5,000 rules by who holds 5,000 rules",
    prepare: (plane) => give(plane, "narrow", narrow(5000)),
    requests: [
      post(`${rbac}/clusterrolebindings`, () => binding("bound", "narrow", ["x"]), writer),
    ],
    expect: 201,
  },
  {
    name: "who holds thousands of rules asks what they may do",
    prepare: (plane) => give(plane, "narrow", narrow(5000)),
    requests: [
      post(
        `${reviews}/selfsubjectrulesreviews`,
        () => ({ spec: { namespace: "default" } }),
        writer,
      ),
    ],
    expect: 201,
  },
  {
    name: "a hundred requests of who holds thousands of rules",
    prepare: (plane) => give(plane, "narrow", narrow(5000)),
    requests: Array.from({ length: 100 }, (_, at) => ({
      method: "GET",
      path: `/api/v1/namespaces/default/configmaps/none-${at}`,
      headers: writer,
    })),
    expect: 403,
  },
  {
    name: "a review of 60,000 groups",
    requests: [
      post(`${reviews}/subjectaccessreviews`, () => ({
        spec: {
          user: "a",
          groups: words(60_000, "g"),
          resourceAttributes: { verb: "get", resource: "pods" },
        },
      })),
    ],
    expect: [201, 413],
  },
  {
    name: "a binding of 10,000 subjects, and the requests after it",
    requests: [
      post(`${rbac}/clusterrolebindings`, () => binding("crowd", "view", words(10_000, "u"))),
      { method: "GET", path: "/api/v1/namespaces/default/configmaps/none", headers: writer },
    ],
    expect: [201, 403],
  },
  {
    name: "a URL pattern of stars",
    prepare: async (plane) => {
      const url = `/${"*".repeat(1_000_000)}a*`;
      await give(plane, "stars", [{ nonResourceURLs: [url], verbs: ["get"] }]);
    },
    requests: [{ method: "GET", path: "/nothing", headers: writer }],
    expect: [403, 404],
  },
  {
    name: "an aggregated role of 5,000 rules",
    prepare: (plane) =>
      plane.send(post(`${rbac}/clusterroles`, () => role("part", narrow(5000), { big: "1" }))),
    requests: [
      post(`${rbac}/clusterroles`, () => ({
        metadata: { name: "aggregate" },
        aggregationRule: { clusterRoleSelectors: [{ matchLabels: { big: "1" } }] },
      })),
      ...waits(20),
    ],
    expect: [200, 201],
  },
  {
    name: "an aggregated role of 8,000 selectors",
    requests: [
      post(`${rbac}/clusterroles`, () => ({
        metadata: { name: "selectors" },
        aggregationRule: {
          clusterRoleSelectors: words(8000, "v").map((value) => ({ matchLabels: { a: value } })),
        },
      })),
      ...waits(20),
    ],
    expect: [200, 201],
  },
];

/** Requests between which the controllers do what they have to. */
function waits(count: number): readonly AttackRequest[] {
  return Array.from({ length: count }, () => ({
    method: "GET",
    path: "/api/v1/namespaces/default",
  }));
}
