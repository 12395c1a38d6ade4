/** Whom a request wishes to be: lines where the rim has them, joined values where it has not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { given } from "#base/given.ts";
import type { PlainRequest } from "#platform/http.ts";
import { impersonationHeaders, requestedUser } from "./impersonation.ts";

function asking(
  headers: Record<string, string>,
  impersonateLines?: Record<string, string[]>,
): PlainRequest {
  const lines = given({ impersonateLines });
  return {
    method: "GET",
    path: "/",
    query: "",
    headers,
    ...lines,
    body: { kind: "none" },
    peer: { kind: "socket", address: "" },
    signal: new AbortController().signal,
  };
}

test("a group's name may hold a comma where the lines were kept apart", () => {
  const joined = { "impersonate-user": "ann", "impersonate-group": "cn=a,dc=b, c" };
  const lines = { "impersonate-group": ["cn=a,dc=b", "c"] };
  assert.deepEqual(requestedUser(asking(joined, lines))?.groups, [
    "cn=a,dc=b",
    "c",
    "system:authenticated",
  ]);
  assert.deepEqual(requestedUser(asking(joined))?.groups, [
    "cn=a",
    "dc=b",
    "c",
    "system:authenticated",
  ]);
});

test("extras keep their commas as well, and go upstream as they came", () => {
  const headers = { "impersonate-user": "ann", "impersonate-extra-a%2Fb": "x,y" };
  const user = requestedUser(asking(headers, { "impersonate-extra-a%2Fb": ["x,y"] }));
  assert.deepEqual(user?.extra, { "a/b": ["x,y"] });
  assert.ok(user !== undefined);
  assert.deepEqual(impersonationHeaders(user)["impersonate-extra-a%2Fb"], ["x,y"]);
});
