/** Leader election: takeovers, losses and hangs, on a clock that the test moves. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Lease } from "#api/gen/types.ts";
import { failure } from "#api/status.ts";
import { silentLog } from "#platform/log.ts";
import { FakeClock, settle } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { electionTimes, type LeaderTerm, leaseResource, runElected } from "./election.ts";
import { fencedTransport } from "./fence.ts";
import { createFakeApi } from "./testing/fake-api.ts";

function setup() {
  const clock = new FakeClock();
  const api = createFakeApi({ clock });
  const active: string[] = [];
  const terms = new Map<string, LeaderTerm>();
  const join = (identity: string) => {
    const stop = new AbortController();
    const deps = { client: api, clock, log: silentLog, random: new FakeRandom(7) };
    const options = { namespace: "kube-system", name: "test", identity, ...electionTimes };
    const lead = (signal: AbortSignal, term: LeaderTerm): Promise<void> => {
      active.push(identity);
      terms.set(identity, term);
      return new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          active.splice(active.indexOf(identity), 1);
          resolve();
        });
      });
    };
    return { stop, running: runElected(deps, options, lead, stop.signal) };
  };
  const holder = () => api.peek<Lease>(leaseResource, "kube-system", "test")?.spec?.holderIdentity;
  return { clock, api, active, terms, join, holder };
}

test("one of two candidates leads; the other follows when it steps down", async () => {
  const { clock, active, join, holder } = setup();
  const one = join("one");
  await settle();
  const two = join("two");
  await clock.advance(60_000);
  assert.deepEqual(active, ["one"]);
  one.stop.abort();
  await one.running;
  assert.deepEqual(active, []);
  assert.equal(holder(), "");
  await clock.advance(3_000);
  assert.deepEqual(active, ["two"]);
  two.stop.abort();
  await two.running;
});

test("a leader that cannot renew stops before another may start", async () => {
  const { clock, api, active, join } = setup();
  const one = join("one");
  await settle();
  api.fail((c) => c.verb === "update", failure(500, "InternalError", "down"), 100);
  await clock.advance(9_000);
  assert.deepEqual(active, ["one"]);
  await clock.advance(2_000);
  assert.deepEqual(active, []);
  one.stop.abort();
  await one.running;
});

test("a renewal that hangs counts as failed at the deadline", async () => {
  const { clock, api, active, join } = setup();
  const one = join("one");
  await settle();
  const open = api.block((c) => c.verb === "get");
  await clock.advance(12_500);
  assert.deepEqual(active, []);
  one.stop.abort();
  open();
  await clock.advance(10);
  await one.running;
});

test("a dead leader's lease is taken after its duration", async () => {
  const { clock, api, active, join } = setup();
  api.put<Lease>(leaseResource, {
    metadata: { name: "test", namespace: "kube-system" },
    spec: { holderIdentity: "dead", leaseDurationSeconds: 15, leaseTransitions: 3 },
  });
  const one = join("one");
  await clock.advance(14_000);
  assert.deepEqual(active, []);
  await clock.advance(6_000);
  assert.deepEqual(active, ["one"]);
  const spec = api.peek<Lease>(leaseResource, "kube-system", "test")?.spec;
  assert.equal(spec?.leaseTransitions, 4);
  one.stop.abort();
  await one.running;
});

test("a leader that was paused writes nothing when it wakes up, before any timer has fired", async () => {
  const { clock, terms, join } = setup();
  const one = join("one");
  await settle();
  const sent: string[] = [];
  const http = {
    send: ({ method }: { readonly method: string }) => {
      sent.push(method);
      return Promise.reject(new Error("no server here"));
    },
    close: () => {},
  };
  const term = terms.get("one");
  assert.ok(term);
  const fenced = fencedTransport(http, term);
  const send = (method: string): Promise<unknown> =>
    fenced
      .send({ method, target: "/x", headers: {}, signal: one.stop.signal })
      .catch((error: Error) => error.message);
  await send("PUT");
  clock.pause(15_000);
  assert.match(String(await send("PUT")), /PUT \/x was not sent: the leader's lease is not held/);
  await send("GET");
  assert.deepEqual(sent, ["PUT", "GET"]);
  one.stop.abort();
  await clock.advance(10);
  await one.running;
});
