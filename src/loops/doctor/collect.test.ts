/** The collector: few requests, gaps by name, and servers that answer nonsense. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ByteRequest, ByteTransport } from "#platform/byte-transport.ts";
import { socketClient } from "#client/rest-client.ts";
import { look } from "./collect.ts";
import { judge } from "./report.ts";
import { rules } from "./rules.ts";
import { nowMs } from "./testing/evidence.ts";

const vector = { status: "success", data: { resultType: "vector", result: [] } };

/** A server that gives each path one answer. */
function lookAt(answer: (request: ByteRequest) => { status: number; body: string }) {
  const asked: string[] = [];
  const http: ByteTransport = {
    send(request) {
      asked.push(request.target);
      const { status, body } = answer(request);
      const bytes = new TextEncoder().encode(body);
      return Promise.resolve({
        status,
        headers: {},
        read: (limit) => Promise.resolve(bytes.length > limit ? "too-large" : bytes),
        stream: () => Promise.reject(new Error("no stream")),
      });
    },
    close() {},
  };
  const client = socketClient(
    { http },
    { userAgent: "test", bodyBytesMax: 1_000_000, frameBytesMax: 1_000 },
  );
  const scheduler = (): Promise<string> => Promise.reject(new Error("refused"));
  const evidence = look({
    client,
    nowMs: () => nowMs,
    pause: () => Promise.resolve(),
    servingCertificateEndMs: () => Promise.resolve(undefined),
    programs: { etcd: () => Promise.resolve("up 1"), scheduler, "controller-manager": scheduler },
    past: { seconds: 60, get: () => Promise.resolve(vector) },
    audit: () => Promise.resolve({ calls: [], seconds: 1, dropped: 2, uncounted: 0 }),
  });
  return { evidence, asked };
}

test("a look is seven requests, and every list has a limit", async () => {
  const { evidence, asked } = lookAt(({ target }) => ({
    status: 200,
    body: target === "/metrics" ? "up 1" : '{"metadata":{},"items":[]}',
  }));
  const { gaps, programs } = await evidence;
  assert.deepEqual(
    gaps.map(({ what, why, right }) => [what, why, right]),
    [
      ...["scheduler", "controller-manager"].map((name) => [
        `/metrics of ${name}`,
        "refused",
        `another --${name} URL`,
      ]),
      ["the audit log", "2 lines are no events, 0 calls are of too many clients", "-"],
    ],
  );
  assert.deepEqual(Object.keys(programs), ["etcd"]);
  assert.equal(asked.length, 7);
  const lists = asked.filter((target) => target.startsWith("/api"));
  assert.ok(lists.every((target) => /[?&]limit=(500|10000)\b/.test(target)));
});

test("the zones of nodes are read in pages, and only when nodes are silent", async () => {
  const lease = (renewTime: string): string =>
    JSON.stringify({ metadata: {}, items: [{ metadata: { name: "a" }, spec: { renewTime } }] });
  const node = (name: unknown, zone: unknown): unknown => ({
    metadata: { name, labels: { "topology.kubernetes.io/zone": zone } },
  });
  const page = (next: string, ...items: unknown[]): string =>
    JSON.stringify({ metadata: { continue: next }, items });
  const answer = (renewTime: string) => (request: ByteRequest) => ({
    status: 200,
    body: bodyOf(request.target, renewTime),
  });
  const bodyOf = (target: string, renewTime: string): string => {
    if (target.includes("/kube-node-lease/")) return lease(renewTime);
    if (!target.includes("/nodes?")) return page("");
    if (target.includes("continue=")) return page("", node("b", "eu-2"), node(3, "x"), {});
    return page("more", node("a", "eu-1"), node("c", 7));
  };
  const silent = lookAt(answer("2020-01-01T00:00:00Z"));
  assert.deepEqual(
    [...((await silent.evidence).zones ?? [])],
    [
      ["a", "eu-1"],
      ["b", "eu-2"],
    ],
  );
  const well = lookAt(answer(new Date(nowMs).toISOString()));
  assert.equal((await well.evidence).zones, undefined);
  assert.ok(!well.asked.some((target) => target.includes("/nodes")));
});

test("what is forbidden is a gap that names the right, and the rest is still read", async () => {
  const { evidence } = lookAt(({ target }) =>
    target.includes("/namespaces?")
      ? {
          status: 200,
          body: '{"metadata":{"continue":"x"},"items":[{"metadata":{"name":"a"}},{},null]}',
        }
      : { status: 403, body: "forbidden" },
  );
  const { gaps, objects, hasAnswer } = await evidence;
  assert.deepEqual(
    objects.namespaces.map(({ metadata }) => metadata.name),
    ["a"],
  );
  assert.equal(hasAnswer, true);
  assert.deepEqual(gaps.map(({ right }) => right).toSorted(), [
    "-",
    "-",
    "another --controller-manager URL",
    "another --scheduler URL",
    "get on the non-resource URL /metrics",
    "list on apiservices.apiregistration.k8s.io",
    "list on leases.coordination.k8s.io",
    "list on leases.coordination.k8s.io",
  ]);
});

test("a server whose answers are too large, or are no lists, still gets a report", async () => {
  const large = lookAt(() => ({ status: 200, body: "x".repeat(2_000_000) }));
  const strange = lookAt(() => ({ status: 200, body: '{"items":7,"metadata":null}' }));
  const bad =
    '{"metadata":{"name":"a","finalizers":1},"spec":{"service":null},"status":{"conditions":[7,null,{"type":"Available","status":"False"}]}}';
  const mixed = lookAt(() => ({ status: 200, body: `{"metadata":{},"items":[7,${bad}]}` }));
  const [away] = judge(await mixed.evidence, rules).findings;
  assert.equal(away?.culprit, "APIService a, its service");
  for (const { evidence } of [large, strange]) {
    const seen = await evidence;
    assert.ok(seen.gaps.length >= 1);
    assert.deepEqual(judge(seen, rules).findings, []);
  }
  assert.equal((await large.evidence).hasAnswer, false);
});
