/** Constrained impersonation: which checks a mode makes, and who one becomes by it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { UserInfo } from "#platform/http.ts";
import type { Attributes, Authorizer } from "./auth.ts";
import { impersonate } from "./impersonation.ts";
import { request } from "./testing.ts";

const agent: UserInfo = {
  name: "system:serviceaccount:kube-system:agent",
  groups: ["system:serviceaccounts"],
  extra: {
    "authentication.kubernetes.io/node-name": ["n1"],
    "authentication.kubernetes.io/pod-name": ["agent-x"],
  },
};

function asked(user: UserInfo): Attributes {
  return {
    user,
    verb: "list",
    path: "/api/v1/pods",
    isResourceRequest: true,
    group: "",
    version: "v1",
    resource: "pods",
    subresource: "",
    namespace: "ns",
    name: "",
  };
}

function line({ verb, group, resource, subresource, namespace, name }: Attributes): string {
  const path = [group, resource, subresource, namespace, name].map((part) => part || "-").join(" ");
  return `${verb} ${path}`;
}

interface Outcome {
  readonly made: readonly string[];
  readonly result: Awaited<ReturnType<typeof impersonate>>;
}

/** `rights`: lines that are allowed; absent: all of constrained modes. */
async function act(
  headers: Record<string, string>,
  rights?: readonly string[],
  user = agent,
): Promise<Outcome> {
  const made: string[] = [];
  const authorizer: Authorizer = {
    authorize(attributes) {
      const text = line(attributes);
      made.push(text);
      const allowed = rights?.includes(text) ?? text.includes(":");
      return { allowed, denied: false, reason: "" };
    },
    rulesFor: () => ({ rules: [], incomplete: false }),
  };
  const result = await impersonate(request({ headers }), user, authorizer, () => asked(user));
  return { made, result };
}

const auth = "authentication.k8s.io";

/** What is asked until a mode has granted it, and the groups and the constraint that follow. */
const modes: readonly (readonly [
  name: string,
  headers: Record<string, string>,
  user: UserInfo,
  made: readonly string[],
  groups: readonly string[],
])[] = [
  [
    "associated-node",
    { "impersonate-user": "system:node:n1" },
    agent,
    [
      "impersonate-on:associated-node:list - pods - ns -",
      `impersonate:associated-node ${auth} nodes - - *`,
    ],
    ["system:nodes", "system:authenticated"],
  ],
  [
    "arbitrary-node",
    { "impersonate-user": "system:node:n2" },
    agent,
    [
      "impersonate-on:arbitrary-node:list - pods - ns -",
      `impersonate:arbitrary-node ${auth} nodes - - n2`,
    ],
    ["system:nodes", "system:authenticated"],
  ],
  [
    "serviceaccount",
    { "impersonate-user": "system:serviceaccount:a:b" },
    agent,
    [
      "impersonate-on:serviceaccount:list - pods - ns -",
      `impersonate:serviceaccount ${auth} serviceaccounts - a b`,
    ],
    ["system:serviceaccounts", "system:serviceaccounts:a", "system:authenticated"],
  ],
  [
    "user-info",
    {
      "impersonate-user": "jane",
      "impersonate-uid": "u",
      "impersonate-group": "g, h",
      "impersonate-extra-a.b%2fc": "v",
    },
    agent,
    [
      "impersonate-on:user-info:list - pods - ns -",
      `impersonate:user-info ${auth} users - - jane`,
      `impersonate:user-info ${auth} uids - - u`,
      `impersonate:user-info ${auth} groups - - g`,
      `impersonate:user-info ${auth} groups - - h`,
      `impersonate:user-info ${auth} userextras a.b/c - v`,
    ],
    ["g", "h", "system:authenticated"],
  ],
  [
    "user-info",
    { "impersonate-user": "jane", "impersonate-group": "a, b, c, d" },
    agent,
    [
      "impersonate-on:user-info:list - pods - ns -",
      `impersonate:user-info ${auth} users - - jane`,
      `impersonate:user-info ${auth} groups - - *`,
    ],
    ["a", "b", "c", "d", "system:authenticated"],
  ],
];

for (const [mode, headers, user, made, groups] of modes) {
  test(`${mode} as ${headers["impersonate-user"]}: its checks in order, and who one becomes`, async () => {
    const outcome = await act(headers, undefined, user);
    assert.deepEqual(outcome.made, made);
    assert.ok(outcome.result.kind === "user");
    assert.deepEqual(outcome.result.user.groups, groups);
    assert.equal(outcome.result.constraint, `impersonate:${mode}`);
  });
}

test("the checks of an associated node leave out what tells the pods of an account apart", async () => {
  const users: UserInfo[] = [];
  const authorizer: Authorizer = {
    authorize: ({ user }) => {
      users.push(user);
      return { allowed: true, denied: false, reason: "" };
    },
    rulesFor: () => ({ rules: [], incomplete: false }),
  };
  const headers = { "impersonate-user": "system:node:n1" };
  await impersonate(request({ headers }), agent, authorizer, () => asked(agent));
  for (const { extra } of users) {
    assert.deepEqual(extra, {
      "authentication.kubernetes.io/associated-node-keys": [
        "authentication.kubernetes.io/node-name",
        "authentication.kubernetes.io/pod-name",
      ],
    });
  }
});

test("without the right for this request the plain right decides, and the first refusal is told", async () => {
  const jane = { "impersonate-user": "jane" };
  const plain = await act(jane, ["impersonate - users - - jane"]);
  assert.deepEqual(plain.made, [
    "impersonate-on:user-info:list - pods - ns -",
    "impersonate - users - - jane",
  ]);
  assert.equal(plain.result.kind === "user" && plain.result.constraint, "");
  const { result } = await act(jane, []);
  assert.ok(result.kind === "forbidden");
  assert.equal(line(result.attributes), "impersonate-on:user-info:list - pods - ns -");
});

test("system:masters, nameless groups and odd extras are for the plain right alone", async () => {
  for (const more of [
    { "impersonate-group": "system:masters" },
    { "impersonate-group": "" },
    { "impersonate-extra-scopes": "s" },
    { "impersonate-extra-a.b%2fc": "" },
  ]) {
    const { result } = await act({ "impersonate-user": "jane", ...more });
    assert.equal(result.kind, "forbidden", JSON.stringify(more));
  }
});

test("a node or an account with any other part takes the plain right", async () => {
  for (const name of ["system:node:n1", "system:serviceaccount:a:b"]) {
    const { made } = await act({ "impersonate-user": name, "impersonate-group": "g" }, []);
    assert.ok(
      made.every((text) => text.startsWith("impersonate ")),
      made.join(),
    );
  }
});
