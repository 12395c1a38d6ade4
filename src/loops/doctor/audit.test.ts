/** Lines of an audit log become counts of calls; lines of anything else are dropped. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { AuditCounter } from "./audit.ts";
import { auditEvent } from "./testing/audit.ts";

function countOf(lines: readonly string[]) {
  const counter = new AuditCounter();
  for (const line of lines) counter.add(line);
  return counter.result();
}

test("each request counts once, by caller, kind of call and resource", () => {
  const { calls, dropped } = countOf([
    auditEvent({ verb: "list", requestURI: "/api/v1/pods" }),
    auditEvent({ verb: "list", requestURI: "/api/v1/pods" }),
    auditEvent({ verb: "list", requestURI: "/api/v1/pods?limit=500" }),
    auditEvent({ verb: "list", requestURI: "/api/v1/pods?resourceVersion=0" }),
    auditEvent({ verb: "watch", stage: "ResponseStarted" }),
    auditEvent({ verb: "watch", stage: "ResponseComplete" }),
    auditEvent({ verb: "patch" }),
    auditEvent({ verb: "get" }),
    auditEvent({ verb: "patch", stage: "RequestReceived" }),
  ]);
  assert.deepEqual(
    calls.map(({ kind, count, user, userAgent, resource }) => [
      kind,
      count,
      user,
      userAgent,
      resource,
    ]),
    [
      ["list-whole", 2, "eve", "agent/1", "pods"],
      ["list", 2, "eve", "agent/1", "pods"],
      ["watch", 1, "eve", "agent/1", "pods"],
      ["write", 1, "eve", "agent/1", "pods"],
    ],
  );
  assert.equal(dropped, 0);
});

test("the seconds are those between the first and the last request", () => {
  const at = (second: number) =>
    auditEvent({ verb: "patch", requestReceivedTimestamp: `2026-01-02T03:00:${second}.000000Z` });
  assert.equal(countOf([at(40), at(10), at(30)]).seconds, 30);
});

test("lines that are no events, or too long, are dropped and counted", () => {
  const { calls, dropped } = countOf(["{", "7", "null", "", `"${"x".repeat(2 ** 21)}"`]);
  assert.deepEqual([calls.length, dropped], [0, 4]);
});

test("a log of very many callers is counted within bounds", () => {
  const lines = Array.from({ length: 20_100 }, (_, index) =>
    auditEvent({ verb: "patch", userAgent: `agent/${index}` }),
  );
  const { calls, uncounted } = countOf(lines);
  assert.deepEqual([calls.length, uncounted], [20_000, 100]);
  const [call] = countOf([auditEvent({ verb: "patch", userAgent: "x".repeat(9_999) })]).calls;
  assert.equal(call?.userAgent.length, 200);
});

test("clients are pods by their tokens, or else addresses; who is acted as is the caller", () => {
  const pod = (name: string) => ({
    username: "u",
    extra: { "authentication.kubernetes.io/pod-name": [name] },
  });
  const list = (more: object) => auditEvent({ verb: "list", ...more });
  const [byPod] = countOf(["a", "b", "a"].map((name) => list({ user: pod(name) }))).calls;
  assert.equal(byPod?.clients, 2);
  const [byAddress] = countOf(["1", "2", "3"].map((one) => list({ sourceIPs: [one] }))).calls;
  assert.equal(byAddress?.clients, 3);
  const [acted] = countOf([list({ impersonatedUser: pod("a") })]).calls;
  assert.deepEqual([acted?.user, acted?.clients], ["u", 1]);
  const many = Array.from({ length: 3_000 }, (_, at) => list({ sourceIPs: [String(at)] }));
  assert.equal(countOf(many).calls[0]?.clients, 2_000);
  assert.deepEqual(countOf([list({ sourceIPs: 7, user: null })]).calls[0]?.clients, undefined);
});
