/** What an audit line holds: annotations as an object, no part of a body, and bounded texts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AuditLine } from "./audit.ts";
import { auditText } from "./audit-text.ts";
import { requestInfo } from "./request-info.ts";

const alice = { name: "alice", groups: ["devs"] };
const mark = "...TRUNCATED";

function line(path: string, more: Partial<AuditLine> = {}): AuditLine {
  return {
    auditId: "1",
    receivedMs: 0,
    seconds: 0,
    user: alice,
    impersonator: undefined,
    sourceAddress: "192.0.2.1",
    userAgent: "kubectl",
    info: requestInfo("GET", path, new URLSearchParams()),
    name: "",
    method: "GET",
    query: "",
    code: 200,
    ...more,
  };
}

const parsed = (of: AuditLine): AuditLine & { readonly annotations?: object } =>
  JSON.parse(auditText(of)) as AuditLine;

test("annotations are an object of texts", () => {
  const annotations = new Map([
    ["validation.policy.admission.k8s.io/validation_failure", '[{"message":"no"}]'],
    ["a.example.com/b", "c"],
  ]);
  assert.deepEqual(parsed(line("/api/v1/pods", { annotations })).annotations, {
    "validation.policy.admission.k8s.io/validation_failure": '[{"message":"no"}]',
    "a.example.com/b": "c",
  });
  const long = line("/api/v1/pods", { annotations, query: "x".repeat(20_000) });
  assert.equal(Object.keys(parsed(long).annotations ?? {}).length, 2);
});

test("a webhook's patch, a part of a body, is no part of a line", () => {
  const key = "webhook.admission.k8s.io/round_0_index_0";
  const annotations = new Map([
    [`patch.${key}`, '{"patch":[{"value":"secret"}]}'],
    [`mutation.${key}`, '{"mutated":true}'],
  ]);
  assert.deepEqual(parsed(line("/api/v1/pods", { annotations })).annotations, {
    [`mutation.${key}`]: '{"mutated":true}',
  });
  const only = new Map([[`patch.${key}`, "{}"]]);
  assert.ok(!auditText(line("/api/v1/pods", { annotations: only })).includes("annotations"));
});

test("a long query is cut, sooner where nobody vouches for the caller", () => {
  const query = "x".repeat(62_000);
  assert.equal(parsed(line("/api/v1/pods", { query })).query, "x".repeat(8_192) + mark);
  for (const user of [undefined, { name: "system:anonymous", groups: [] }]) {
    const cut = parsed(line("/api/v1/pods", { query, user }));
    assert.equal(cut.query, "x".repeat(1_024) + mark);
    assert.equal(cut.info.resource, "pods");
  }
});

test("a line stays short, whatever its head was made of", () => {
  const segments = line(`/api/v1/${"a/".repeat(30_000)}`, { user: undefined });
  const names = line(`/api/v1/pods/${"é".repeat(30_000)}`, { user: undefined });
  const agent = line("/api/v1/pods", { userAgent: "x".repeat(60_000), user: undefined });
  const groups = line("/api/v1/pods", {
    user: { ...alice, groups: Array.from({ length: 30_000 }, (_, at) => `g${at}`) },
  });
  const methods = line("/x", { method: "M".repeat(60_000), user: undefined });
  for (const one of [segments, names, agent, groups, methods])
    assert.ok(auditText(one).length < 10_000, `${auditText(one).length}`);
  assert.equal(parsed(agent).userAgent, "x".repeat(1_024) + mark);
  assert.equal(parsed(groups).user?.groups.length, 129);
});

test("a text is not cut within a character", () => {
  const cut = parsed(line("/api/v1/pods", { query: `${"x".repeat(1_023)}😀`, user: undefined }));
  assert.ok(cut.query.isWellFormed());
});
