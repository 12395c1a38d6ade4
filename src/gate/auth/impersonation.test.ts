/** Impersonation and its authorization. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Attributes, Authorizer } from "./auth.ts";
import { impersonate } from "./impersonation.ts";
import { request } from "./testing.ts";

const admin = { name: "admin", groups: ["system:authenticated"] };

function allowing(may: (attributes: Attributes) => boolean): Authorizer {
  return {
    authorize: (a) => ({ allowed: may(a), denied: false, reason: "" }),
    rulesFor: () => ({ rules: [], incomplete: false }),
  };
}
const anyone = allowing(() => true);
/** The right to act as somebody whatever is asked for: no constrained mode grants it. */
const plainly = (may: (attributes: Attributes) => boolean): Authorizer =>
  allowing((a) => !a.verb.includes(":") && may(a));
const asked = (): Attributes => ({
  user: admin,
  verb: "list",
  path: "/api/v1/pods",
  isResourceRequest: true,
  group: "",
  version: "v1",
  resource: "pods",
  subresource: "",
  namespace: "",
  name: "",
});
const act = (headers: Record<string, string>, authorizer = plainly(() => true)) =>
  impersonate(request({ headers }), admin, authorizer, asked);

test("no header, no change", async () => {
  assert.deepEqual(await act({}), { kind: "none" });
});

test("user, groups, uid and extra become the new identity", async () => {
  const result = await act({
    "impersonate-user": "jane",
    "impersonate-group": "dev, ops",
    "impersonate-uid": "u1",
    "impersonate-extra-acme.com%2fproject": "p1, p2",
  });
  assert.deepEqual(result, {
    kind: "user",
    user: {
      name: "jane",
      groups: ["dev", "ops", "system:authenticated"],
      uid: "u1",
      extra: { "acme.com/project": ["p1", "p2"] },
    },
    constraint: "",
  });
});

test("a group or a value may hold a comma: a line is one of them", async () => {
  const result = await impersonate(
    {
      ...request({
        headers: {
          "impersonate-user": "jane",
          "impersonate-group": "a,b, c",
          "impersonate-extra-reason": "on call, at night",
        },
      }),
      impersonateLines: {
        "impersonate-user": ["jane"],
        "impersonate-group": ["a,b", "c"],
        "impersonate-extra-reason": ["on call, at night"],
      },
    },
    admin,
    anyone,
    asked,
  );
  assert.deepEqual(result.kind === "user" && [result.user.groups, result.user.extra], [
    ["a,b", "c", "system:authenticated"],
    { reason: ["on call, at night"] },
  ]);
});

test("a service account brings its groups; anonymous is never authenticated", async () => {
  const account = await act({ "impersonate-user": "system:serviceaccount:ns:app" });
  assert.deepEqual(account.kind === "user" && account.user.groups, [
    "system:serviceaccounts",
    "system:serviceaccounts:ns",
    "system:authenticated",
  ]);
  const nobody = await act({ "impersonate-user": "system:anonymous" });
  assert.deepEqual(nobody.kind === "user" && nobody.user.groups, ["system:unauthenticated"]);
});

test("every part is asked for, as the real user", async () => {
  const found: string[] = [];
  const recorder = plainly((a) => {
    assert.equal(a.user, admin);
    const sub = a.subresource === "" ? "" : `/${a.subresource}`;
    found.push(`${a.verb} ${a.group}/${a.resource}${sub} ${a.namespace} ${a.name}`);
    return true;
  });
  const headers = {
    "impersonate-user": "system:serviceaccount:ns:app",
    "impersonate-group": "g",
    "impersonate-extra-scopes": "s",
    "impersonate-uid": "u",
  };
  await act(headers, recorder);
  assert.deepEqual(found, [
    "impersonate /serviceaccounts ns app",
    "impersonate authentication.k8s.io/uids  u",
    "impersonate /groups  g",
    "impersonate authentication.k8s.io/userextras/scopes  s",
  ]);
});

test("the part that is refused is named where no constrained mode applies", async () => {
  const accountsOnly = allowing((a) => a.resource === "serviceaccounts");
  const account = { "impersonate-user": "system:serviceaccount:ns:app", "impersonate-group": "g" };
  const result = await act(account, accountsOnly);
  assert.equal(result.kind === "forbidden" && result.attributes.resource, "groups");
});

test("groups without a user are a bad request", async () => {
  assert.deepEqual(await act({ "impersonate-group": "g" }), {
    kind: "bad-request",
    message:
      'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"g"}, Extra:map[string][]string(nil)} without impersonating a user name',
  });
});

test("an account that could not be called so is a user, and takes the right to act as one", async () => {
  for (const name of ["system:serviceaccount:ns:A b", "system:serviceaccount:n.s:app"]) {
    const found: string[] = [];
    const authorizer = plainly((a) => found.push(`${a.resource} ${a.name}`) > 0);
    const result = await act({ "impersonate-user": name }, authorizer);
    assert.deepEqual(found, [`users ${name}`]);
    const user = { name, groups: ["system:authenticated"] };
    assert.deepEqual(result, { kind: "user", user, constraint: "" });
  }
});
