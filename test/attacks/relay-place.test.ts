/**
 * A user limited to one namespace reads nothing outside it from a relay's mirrors, by either face,
 * whatever the path.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import type { AnyObject } from "#api/object.ts";
import { apiVersionOf } from "#api/object.ts";
import { stableResources } from "#api/schema/testing/stable-resources.ts";
import type { Client } from "#client/client.ts";
import type { PlainResponse } from "#platform/http.ts";
import { splitTarget } from "#platform/node/http/http-body.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeHttpServer, wholeAnswer } from "#platform/testing/http-server.ts";
import { relayLimits } from "#relay/limits.ts";
import { collectionPath, type MirroredKind } from "#relay/mirror/mirrored-kind.ts";
import { createRelay, type Relay } from "#relay/relay.ts";
import { FakeCollections } from "#relay/testing/fake-collections.ts";
import { plainGet, relayDeps, Watching } from "#relay/testing/relay-fixture.ts";

const seed = Number(process.env["PILOTHOUSE_SEED"] ?? 1);
/** In every object that is not of namespace `team`. */
const marker = "not-for-team";

const kinds: readonly MirroredKind[] = stableResources()
  .filter(({ verbs }) => verbs.includes("list") && verbs.includes("watch"))
  .map(({ group, version, resource, kind, namespaced }) => {
    const apiVersion = apiVersionOf({ group, version });
    return { group, version, resource, kind, namespaced, apiVersion };
  });
const clusterScoped = kinds.filter(({ namespaced }) => !namespaced);

interface Spec {
  readonly resourceAttributes?: {
    readonly namespace?: string;
    readonly name?: string;
    readonly resource?: string;
  };
}

const clock = new FakeClock();
const fake = new FakeCollections();
let isAllowed = (_spec: Spec): boolean => true;
const client = {
  create: (_ref: unknown, _namespace: string, object: { readonly spec: Spec }) =>
    Promise.resolve({ status: { allowed: isAllowed(object.spec) } }),
} as unknown as Client;
const inTeam = ({ resourceAttributes }: Spec): boolean => resourceAttributes?.namespace === "team";

/** Says that it was asked, and gives nothing away. */
const passHttp = new FakeHttpServer(() => wholeAnswer(200, "passed", { "content-length": "6" }));

let relay: Relay;

before(async () => {
  for (const kind of kinds) {
    const path = collectionPath(kind);
    fake.serve(path);
    const places = kind.namespaced ? ["team", "victim"] : [undefined];
    for (const namespace of places) fake.put(path, objectOf(kind, "cm", namespace));
    if (!kind.namespaced) fake.put(path, objectOf(kind, "victim", undefined));
    if (kind.resource === "namespaces") fake.put(path, objectOf(kind, "team", "team"));
  }
  relay = createRelay(
    { ...relayDeps(clock, fake), passHttp, client },
    {
      resources: kinds,
      views: [],
      consistency: "cache",
      limits: { ...relayLimits, flushMs: 0, allowedMs: 0, deniedMs: 0 },
    },
  );
  await clock.advance(100);
  assert.ok(relay.ready);
});

after(async () => {
  const stopped = relay.stop();
  fake.close();
  await clock.advance(100_000);
  await stopped;
});

/** The Namespace `team` is the user's own. */
function objectOf(kind: MirroredKind, name: string, namespace: string | undefined): AnyObject {
  const labels = namespace === "team" ? {} : { [marker]: "yes" };
  const isOwn = kind.resource === "namespaces";
  const place = namespace === undefined || isOwn ? {} : { namespace };
  return {
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: { name, uid: `${kind.resource}-${name}`, labels, ...place },
  } as AnyObject;
}

interface Seen {
  readonly code: number;
  readonly text: string;
}

async function get(target: string, headers: Record<string, string> = {}): Promise<Seen> {
  const split = splitTarget(target);
  if (split === undefined) return { code: 400, text: "" };
  const answer = relay.handler({ ...plainGet("/", headers), ...split });
  await clock.advance(1);
  return seenOf(await answer);
}

async function seenOf(response: PlainResponse): Promise<Seen> {
  const code = response.status;
  if (response.kind === "bytes") return { code, text: Buffer.concat(response.body).toString() };
  if (response.kind !== "stream") return { code, text: response.kind };
  const watching = new Watching();
  const close = response.open(watching);
  await clock.advance(1);
  close();
  return { code, text: watching.text };
}

const tails = ["", "/victim", "/cm", "/victim/status", "/victim/finalize"];
const reads = ["", "?resourceVersion=0", "?watch=true&resourceVersion=0", "?limit=1"];

describe("a cluster-scoped kind below a namespace", () => {
  it("is in the table often enough to mean something", () => {
    assert.ok(clusterScoped.length >= 15, String(clusterScoped.length));
  });

  for (const kind of clusterScoped) {
    const { resource } = kind;
    it(`${resource} is the upstream's to answer on the Kubernetes face, and 404 on the ETag face`, async () => {
      const root = collectionPath(kind).slice(0, -resource.length - 1);
      for (const allowed of [inTeam, () => true]) {
        isAllowed = allowed;
        for (const tail of tails) {
          const path = `${root}/namespaces/team/${resource}${tail}`;
          for (const read of reads) {
            const { text } = await get(path + read);
            assert.equal(text, "passed", path + read);
            const watched = await get(`${path.replace(root, `${root}/watch`)}${read}`);
            assert.equal(watched.text, "passed");
            const polled = await get(`/etag${path}${read}`);
            assert.equal(polled.code, 404, `/etag${path}${read}: ${polled.text}`);
          }
        }
      }
      isAllowed = () => false;
      const refused = await get(`/etag${root}/namespaces/team/${resource}`);
      assert.equal(refused.code, 403);
    });
  }
});

describe("what fits", () => {
  it("is read from the mirror where the user may, and at no other place", async () => {
    isAllowed = inTeam;
    const list = await get("/api/v1/namespaces/team/configmaps?resourceVersion=0");
    assert.match(list.text, /"name":"cm"/);
    const one = await get("/api/v1/namespaces/team/configmaps/cm?resourceVersion=0");
    assert.match(one.text, /"name":"cm"/);
    assert.equal((await get("/etag/api/v1/namespaces/team/configmaps")).code, 200);
    assert.match((await get("/api/v1/namespaces/team?resourceVersion=0")).text, /"name":"team"/);
    for (const target of [
      "/api/v1/namespaces/victim?resourceVersion=0",
      "/api/v1/namespaces/victim/configmaps?resourceVersion=0",
      "/api/v1/namespaces//configmaps?resourceVersion=0",
      "/api/v1/configmaps?resourceVersion=0",
      "/etag/api/v1/namespaces/victim/configmaps",
      "/etag/api/v1/namespaces//configmaps",
      "/etag/api/v1/nodes",
    ]) {
      assert.equal((await get(target)).code, 403, target);
    }
  });
});

const segment = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom("namespaces", "team", "victim", "cm", "configmaps") },
  { weight: 2, arbitrary: fc.constantFrom(...kinds.map(({ resource }) => resource)) },
  {
    weight: 2,
    arbitrary: fc.constantFrom("status", "watch", "proxy", "", ".", "..", "team%2fpods"),
  },
  { weight: 1, arbitrary: fc.string({ maxLength: 4 }).map(encodeURIComponent) },
);
const roots = [
  "/api/v1",
  "/api/v1",
  "/apis/apps/v1",
  "/apis/rbac.authorization.k8s.io/v1",
  "//api/v1",
];
const targets = fc
  .tuple(
    fc.constantFrom("", "/etag", "/etag/", "/"),
    fc.constantFrom(...roots),
    fc.constantFrom(
      "/namespaces/team",
      "/namespaces/team",
      "/watch/namespaces/team",
      "/namespaces/",
      "",
    ),
    fc.oneof(
      fc.array(segment, { maxLength: 4 }),
      fc.constantFrom(["configmaps"], ["pods"], ["nodes"], ["namespaces", "victim"], []),
    ),
    fc.constantFrom("?resourceVersion=0", "?resourceVersion=0&watch=1", "?limit=1", ""),
    fc.constantFrom(
      "",
      "&fieldSelector=metadata.namespace%3Dvictim",
      "&labelSelector=not-for-team",
    ),
  )
  .map(([face, root, scope, segments, query, more]) =>
    [face, root, scope, "/", segments.join("/"), query, query === "" ? "" : more].join(""),
  );

describe("any path", () => {
  it("shows nothing outside the namespace a user is limited to", async () => {
    isAllowed = inTeam;
    let served = 0;
    const property = fc.asyncProperty(targets, async (target) => {
      const { code, text } = await get(target, { accept: "application/json" });
      assert.ok(!text.includes(marker), `${target} shows ${text.slice(0, 200)}`);
      if (code === 200 && text !== "passed") served++;
    });
    await fc.assert(property, { seed, numRuns: 3_000 });
    assert.ok(served > 50, `${served} answers came from the mirrors: too few to mean something`);
  });
});
