/** What an event holds: upstream's fields, no part of a body below the level that asks, and bounded texts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { requestInfo } from "../request-info.ts";
import { AuditEvent, type AuditFacts } from "./event.ts";
import type { Level } from "./policy.ts";
import type { KeptEvent } from "./testing/kept-audit.ts";

const alice = { name: "alice", groups: ["devs"] };
const mark = "...TRUNCATED";

function eventOf(
  path: string,
  more: Partial<AuditFacts> = {},
  level: Level = "Metadata",
): AuditEvent {
  const facts = {
    auditId: "1",
    receivedMs: 1_767_323_045_006,
    requestUri: path,
    info: requestInfo("GET", path, new URLSearchParams()),
    user: alice,
    sourceIps: ["192.0.2.1"],
    userAgent: "kubectl",
    ...more,
  };
  return new AuditEvent(facts, { level, omitStages: new Set(), omitManagedFields: false });
}

function textOf(event: AuditEvent): string {
  return `{${event.at("ResponseComplete", 1_767_323_045_007).json()}}`;
}

const parsed = (event: AuditEvent): KeptEvent => JSON.parse(textOf(event)) as KeptEvent;

test("fields stand in upstream's order", () => {
  const event = eventOf("/api/v1/namespaces/a/pods/p");
  event.status = { code: 200 };
  event.annotate("b", "2");
  event.annotate("a", "1");
  assert.equal(
    textOf(event),
    '{"level":"Metadata","auditID":"1","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/a/pods/p","verb":"get","user":{"username":"alice","groups":["devs"]},"sourceIPs":["192.0.2.1"],"userAgent":"kubectl","objectRef":{"resource":"pods","namespace":"a","name":"p","apiVersion":"v1"},"responseStatus":{"metadata":{},"code":200},"requestReceivedTimestamp":"2026-01-02T03:04:05.006000Z","stageTimestamp":"2026-01-02T03:04:05.007000Z","annotations":{"a":"1","b":"2"}}',
  );
});

test("the legacy format is upstream's line", () => {
  const event = eventOf("/api/v1/namespaces/a/pods/p");
  event.impersonated = { user: { name: "bob", groups: ["x", "y"] }, constraint: "" };
  event.status = { code: 200 };
  assert.equal(
    event.at("ResponseComplete", 0).legacy(),
    '2026-01-02T03:04:05.006Z AUDIT: id="1" stage="ResponseComplete" ip="192.0.2.1" method="get" user="alice" groups="\\"devs\\"" as="bob" asgroups="\\"x\\",\\"y\\"" user-agent="kubectl" namespace="a" uri="/api/v1/namespaces/a/pods/p" response="200"',
  );
});

test("a webhook's patch, a part of a body, is in no event of level Metadata", () => {
  const key = "webhook.admission.k8s.io/round_0_index_0";
  for (const level of ["Metadata", "Request"] as const) {
    const event = eventOf("/api/v1/pods", {}, level);
    event.annotate(`patch.${key}`, '{"patch":[{"value":"secret"}]}');
    event.annotate(`mutation.${key}`, '{"mutated":true}');
    assert.equal(textOf(event).includes("secret"), level === "Request");
    assert.equal(parsed(event).annotations?.[`mutation.${key}`], '{"mutated":true}');
  }
});

test("annotations are bounded, and the first value of a key stays", () => {
  const event = eventOf("/api/v1/pods");
  event.annotate("k", "first");
  event.annotate("k", "second");
  for (let at = 0; at < 20_000; at++) event.annotate(`k${at}`, "v".repeat(40));
  assert.ok(textOf(event).length < 400_000);
  assert.equal(parsed(event).annotations?.["k"], "first");
});

test("a long query is cut, sooner where nobody vouches for the caller", () => {
  const requestUri = `/api/v1/pods?${"x".repeat(62_000)}`;
  assert.equal(
    parsed(eventOf("/api/v1/pods", { requestUri })).requestURI.length,
    8_192 + mark.length,
  );
  for (const user of [undefined, { name: "system:anonymous", groups: [] }]) {
    const cut = parsed(eventOf("/api/v1/pods", { requestUri, user }));
    assert.equal(cut.requestURI.length, 1_024 + mark.length);
    assert.equal(cut.objectRef?.["resource"], "pods");
  }
});

test("an event stays short, whatever its head was made of", () => {
  const segments = eventOf(`/api/v1/${"a/".repeat(30_000)}`, { user: undefined });
  const names = eventOf(`/api/v1/pods/${"é".repeat(30_000)}`, { user: undefined });
  const agent = eventOf("/api/v1/pods", { userAgent: "x".repeat(60_000), user: undefined });
  const many = Array.from({ length: 30_000 }, (_, at) => `g${at}`);
  const groups = eventOf("/api/v1/pods", { user: { ...alice, groups: many } });
  for (const one of [segments, names, agent, groups])
    assert.ok(textOf(one).length < 10_000, `${textOf(one).length}`);
  assert.equal(parsed(agent).userAgent, "x".repeat(1_024) + mark);
  assert.equal(parsed(groups).user.groups?.length, 129);
});

test("a text is not cut within a character", () => {
  const requestUri = `${"x".repeat(1_023)}😀`;
  assert.ok(parsed(eventOf("/", { requestUri, user: undefined })).requestURI.isWellFormed());
});
