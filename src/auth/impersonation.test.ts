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
const act = (headers: Record<string, string>, authorizer = anyone) =>
  impersonate(request({ headers }), admin, authorizer);

test("no header, no change", () => {
  assert.deepEqual(act({}), { kind: "none" });
});

test("user, groups, uid and extra become the new identity", () => {
  const result = act({
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
  });
});

test("a group or a value may hold a comma: a line is one of them", () => {
  const result = impersonate(
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
  );
  assert.deepEqual(result.kind === "user" && [result.user.groups, result.user.extra], [
    ["a,b", "c", "system:authenticated"],
    { reason: ["on call, at night"] },
  ]);
});

test("a service account brings its groups; anonymous is never authenticated", () => {
  const account = act({ "impersonate-user": "system:serviceaccount:ns:app" });
  assert.deepEqual(account.kind === "user" && account.user.groups, [
    "system:serviceaccounts",
    "system:serviceaccounts:ns",
    "system:authenticated",
  ]);
  const nobody = act({ "impersonate-user": "system:anonymous" });
  assert.deepEqual(nobody.kind === "user" && nobody.user.groups, ["system:unauthenticated"]);
});

test("every part is asked for, as the real user", () => {
  const asked: string[] = [];
  const recorder = allowing((a) => {
    assert.equal(a.user, admin);
    const sub = a.subresource === "" ? "" : `/${a.subresource}`;
    asked.push(`${a.verb} ${a.group}/${a.resource}${sub} ${a.namespace} ${a.name}`);
    return true;
  });
  const headers = {
    "impersonate-user": "system:serviceaccount:ns:app",
    "impersonate-group": "g",
    "impersonate-extra-scopes": "s",
    "impersonate-uid": "u",
  };
  act(headers, recorder);
  assert.deepEqual(asked, [
    "impersonate /serviceaccounts ns app",
    "impersonate /groups  g",
    "impersonate authentication.k8s.io/userextras/scopes  s",
    "impersonate authentication.k8s.io/uids  u",
  ]);
});

test("the part that is refused is named", () => {
  const usersOnly = allowing((a) => a.resource === "users");
  const result = act({ "impersonate-user": "j", "impersonate-group": "g" }, usersOnly);
  assert.equal(result.kind === "forbidden" && result.attributes.resource, "groups");
});

test("groups without a user are a bad request", () => {
  assert.deepEqual(act({ "impersonate-group": "g" }), {
    kind: "bad-request",
    message: "requested [{Group  g    }] without impersonating a user",
  });
});

test("an account that could not be called so is a user, and takes the right to act as one", () => {
  for (const name of ["system:serviceaccount:ns:A b", "system:serviceaccount:n.s:app"]) {
    const asked: string[] = [];
    const authorizer = {
      ...anyone,
      authorize: (attributes: Attributes) => {
        asked.push(`${attributes.resource} ${attributes.name}`);
        return { allowed: true, denied: false, reason: "" };
      },
    };
    const result = impersonate(
      request({ headers: { "impersonate-user": name } }),
      admin,
      authorizer,
    );
    assert.deepEqual(asked, [`users ${name}`]);
    assert.deepEqual(result, { kind: "user", user: { name, groups: ["system:authenticated"] } });
  }
});
