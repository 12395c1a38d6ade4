/** What is signed, what is refused in which words, and for how long certificates are given. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { CertificateSigningRequest } from "#api/gen/types.ts";
import { ClusterSigner } from "#auth/cluster-signer.ts";
import recorded from "#auth/testdata/stock-signatures.json" with { type: "json" };
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { refs } from "../framework/refs.ts";
import { condition, fakeAuthority, signingRequest } from "../testing/certificates.ts";
import { createWorld, type World } from "../testing/world.ts";
import type { CertificateAuthority } from "./authority.ts";
import { lifetimeMs } from "./lifetime.ts";
import { signerFault } from "./requests.ts";
import { CertificateSigningController } from "./signing.ts";

const yearMs = 365 * 24 * 3_600_000;

async function worldOf(
  authority: CertificateAuthority,
  requests: readonly CertificateSigningRequest[],
): Promise<World> {
  const world = createWorld();
  for (const request of requests) world.api.put(refs.certificatesigningrequests, request);
  const options = { authority, lifetimeMostMs: yearMs };
  await world.start((deps) => new CertificateSigningController(deps, options));
  return world;
}

function stored(world: World, name: string): CertificateSigningRequest | undefined {
  return world.api.peek<CertificateSigningRequest>(refs.certificatesigningrequests, "", name);
}

const conditions = [condition("Approved")];

test("an approved request is signed once, with its usages and seconds; a second look writes nothing", async () => {
  const { authority, orders } = fakeAuthority();
  const world = await worldOf(authority, [
    signingRequest("a", { conditions, expirationSeconds: 3600 }),
  ]);
  assert.equal(atob(stored(world, "a")?.status?.certificate ?? ""), "signed a");
  assert.deepEqual(orders, ["a digital signature,client auth 3600000"]);
  assert.deepEqual(world.writes(), ["update certificatesigningrequests/status a"]);
  world.forgetCalls();
  await world.advance(3_600_000);
  assert.deepEqual(world.writes(), []);
  await world.stop();
});

test("what is pending, denied, failed, signed, or of another signer is left alone", async () => {
  const { authority, orders } = fakeAuthority();
  const world = await worldOf(authority, [
    signingRequest("pending"),
    signingRequest("denied", { conditions: [...conditions, condition("Denied")] }),
    signingRequest("failed", { conditions: [...conditions, condition("Failed")] }),
    signingRequest("issued", { conditions, certificate: "c" }),
    signingRequest("foreign", { conditions, signerName: "example.com/own" }),
    signingRequest("unknown", { conditions, signerName: "kubernetes.io/pod-client" }),
  ]);
  assert.deepEqual(world.writes(), []);
  assert.deepEqual(orders, []);
  await world.stop();
});

test("a request that its signer refuses fails for good, and says why", async () => {
  const { authority, orders } = fakeAuthority();
  const usages = ["server auth"];
  const world = await worldOf(authority, [signingRequest("a", { conditions, usages })]);
  await world.advance(60_000);
  const [, failed] = stored(world, "a")?.status?.conditions ?? [];
  assert.equal(failed?.type, "Failed");
  assert.equal(failed?.reason, "SignerValidationFailure");
  assert.equal(
    failed?.message,
    "usages did not match [client auth digital signature key encipherment]",
  );
  assert.deepEqual(orders, []);
  assert.equal(world.writes().length, 1);
  await world.stop();
});

test("an authority that cannot sign now is asked again", async () => {
  const { authority } = fakeAuthority();
  let isBroken = true;
  const breaking: CertificateAuthority = {
    ...authority,
    sign: (...order) => {
      if (isBroken) throw new Error("half written");
      return authority.sign(...order);
    },
  };
  const world = await worldOf(breaking, [signingRequest("a", { conditions })]);
  assert.equal(stored(world, "a")?.status?.certificate, undefined);
  isBroken = false;
  await world.advance(10_000);
  assert.equal(atob(stored(world, "a")?.status?.certificate ?? ""), "signed a");
  await world.stop();
});

/** As recorded of stock kube-controller-manager 1.36.3: what each signer signs, and its words where it does not. */
test("each signer refuses what upstream's refuses, in its words", () => {
  const deps = { clock: new FakeClock(), random: new FakeRandom(1) };
  const signer = new ClusterSigner({ ...deps, authority: () => assert.fail("nothing is signed") });
  let failures = 0;
  for (const one of recorded.flatMap(({ requests }) => requests)) {
    if (one.refused !== undefined) continue;
    const names = signer.readRequest(btoa(one.request));
    assert.ok(!("fault" in names), one.name);
    if (one.failed !== undefined) failures++;
    assert.equal(signerFault(one.signerName, names, one.usages), one.failed?.message, one.name);
  }
  assert.equal(failures, 17);
});

test("a lifetime is what was asked for, from ten minutes to the longest given", () => {
  assert.equal(lifetimeMs(undefined, yearMs), yearMs);
  assert.equal(lifetimeMs(3600, yearMs), 3_600_000);
  assert.equal(lifetimeMs(1, yearMs), 600_000);
  assert.equal(lifetimeMs(yearMs / 1000 + 1, yearMs), yearMs);
  assert.equal(lifetimeMs(undefined, 60_000), 60_000);
  assert.equal(lifetimeMs(61, 60_000), 60_000);
});

test("a signer without an authority of its own is left alone", async () => {
  const { authority } = fakeAuthority();
  const some: CertificateAuthority = { ...authority, serves: (name) => name.endsWith("serving") };
  const world = await worldOf(some, [signingRequest("a", { conditions })]);
  assert.equal(stored(world, "a")?.status?.certificate, undefined);
  assert.deepEqual(world.writes(), []);
  await world.stop();
});
