/** Which requests for certificates are approved without a hand. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { CertificateSigningRequest } from "#api/gen/types.ts";
import type { KubeObject } from "#api/object.ts";
import { refs } from "../framework/refs.ts";
import {
  clientUsages,
  condition,
  fakeAuthority,
  nodeNames,
  signingRequest,
} from "../testing/certificates.ts";
import { createWorld, type World } from "../testing/world.ts";
import { CertificateApprovingController, rightsFor } from "./approving.ts";

interface ReviewSpec {
  readonly user: string;
  readonly groups: readonly string[];
  readonly resourceAttributes: { readonly subresource: string };
}

/** A world whose access reviews allow the pairs in `allowed`, each `user subresource`. */
async function worldOf(
  allowed: ReadonlySet<string>,
  requests: readonly CertificateSigningRequest[],
) {
  const world = createWorld();
  const asked: string[] = [];
  for (const request of requests) world.api.put(refs.certificatesigningrequests, request);
  await world.start((deps) => {
    const client = Object.assign(deps.client, {
      create: (_ref: unknown, _namespace: string, review: KubeObject) => {
        const { spec } = review as unknown as { readonly spec: ReviewSpec };
        const question = `${spec.user} ${spec.resourceAttributes.subresource}`;
        asked.push(question);
        return Promise.resolve({ ...review, status: { allowed: allowed.has(question) } });
      },
    });
    return new CertificateApprovingController({ ...deps, client }, fakeAuthority().authority);
  });
  return { world, asked };
}

function conditionsOf(world: World, name: string) {
  const stored = world.api.peek<CertificateSigningRequest>(
    refs.certificatesigningrequests,
    "",
    name,
  );
  return stored?.status?.conditions?.map(({ type, reason, message }) => [type, reason, message]);
}

const bootstrap = "system:bootstrap:abcdef";

test("a bootstrap token that may is approved for any node", async () => {
  const { world, asked } = await worldOf(new Set([`${bootstrap} nodeclient`]), [
    signingRequest("a"),
  ]);
  const message = "Auto approving kubelet client certificate after SubjectAccessReview.";
  assert.deepEqual(conditionsOf(world, "a"), [["Approved", "AutoApproved", message]]);
  assert.deepEqual(world.writes(), ["update certificatesigningrequests/approval a"]);
  assert.deepEqual(asked, [`${bootstrap} nodeclient`]);
  await world.stop();
});

test("a node is approved for itself by its own right, and for no other node", async () => {
  const may = new Set(["system:node:n1 selfnodeclient", "system:node:n2 selfnodeclient"]);
  const { world, asked } = await worldOf(may, [
    signingRequest("own", { username: "system:node:n1" }),
    signingRequest("others", { username: "system:node:n2" }),
  ]);
  const message = "Auto approving self kubelet client certificate after SubjectAccessReview.";
  assert.deepEqual(conditionsOf(world, "own"), [["Approved", "AutoApproved", message]]);
  assert.equal(conditionsOf(world, "others"), undefined);
  assert.ok(!asked.includes("system:node:n2 selfnodeclient"), "it is not asked about that right");
  await world.stop();
});

test("a requester that gets the right later is approved then", async () => {
  const may = new Set<string>();
  const { world, asked } = await worldOf(may, [signingRequest("a")]);
  await world.advance(60_000);
  assert.equal(conditionsOf(world, "a"), undefined);
  assert.ok(asked.length < 20, `${asked.length} reviews in a minute`);
  may.add(`${bootstrap} nodeclient`);
  await world.advance(120_000);
  assert.equal(conditionsOf(world, "a")?.length, 1);
  await world.stop();
});

test("what is decided, signed, or another signer's is not asked about", async () => {
  const { world, asked } = await worldOf(new Set(), [
    signingRequest("approved", { conditions: [condition("Approved")] }),
    signingRequest("denied", { conditions: [condition("Denied")] }),
    signingRequest("issued", { certificate: "c" }),
    signingRequest("serving", { signerName: "kubernetes.io/kubelet-serving" }),
    signingRequest("client", { signerName: "kubernetes.io/kube-apiserver-client" }),
  ]);
  assert.deepEqual(asked, []);
  assert.deepEqual(world.writes(), []);
  await world.stop();
});

test("only a plain request of a kubelet for a client certificate has a right to be asked about", () => {
  const rights = (names: object, usages: readonly string[] = clientUsages): readonly string[] =>
    rightsFor({ ...nodeNames, ...names }, usages, "system:node:n1").map((one) => one.subresource);
  assert.deepEqual(rights({}), ["selfnodeclient", "nodeclient"]);
  assert.deepEqual(rights({ commonName: "system:node:n2" }), ["nodeclient"]);
  for (const names of [
    { organizations: ["system:nodes", "system:masters"] },
    { organizations: [] },
    { commonName: "n1" },
    { dnsNames: 1 },
    { emails: 1 },
    { addresses: 1 },
    { uris: 1 },
  ]) {
    assert.deepEqual(rights(names), [], JSON.stringify(names));
  }
  assert.deepEqual(rights({}, [...clientUsages, "key encipherment"]).length, 2);
  assert.deepEqual(rights({}, [...clientUsages, "server auth"]), []);
  assert.deepEqual(rights({}, ["client auth"]), []);
});
