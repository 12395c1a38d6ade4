/** A plane that signs by another authority than its own, and says that it is reached at another address. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { after, before, describe, test } from "node:test";
import type {
  CertificateSigningRequest,
  ConfigMap,
  Endpoints,
  EndpointSlice,
} from "#api/gen/types.ts";
import { makeAuthority } from "#auth/pki.ts";
import { refs } from "#controllers/framework/refs.ts";
import {
  askAs,
  keyedRequest,
  prepareToJoin,
  signingRequest,
  tokenSecret,
  untilObject,
} from "./joining-world.ts";
import { type PromisedPlane, startPromised } from "./promised-plane.ts";

const validity = { notBeforeMs: 0, notAfterMs: 4e12 };
const authority = makeAuthority("other", { validity, serial: new Uint8Array(16).fill(1) });
const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

describe("a plane with another signing authority, root and address", () => {
  let promised: PromisedPlane;
  before(async () => {
    promised = await startPromised({
      withLoops: true,
      signingAuthority: () => authority,
      signingLifetimeMs: 3_600_000,
      rootCa: "other root",
      advertiseAddress: "192.0.2.9",
    });
    await prepareToJoin(promised.plane.client, "k");
    await promised.plane.client.create(refs.secrets, "kube-system", tokenSecret("abcdef"));
  });
  after(() => promised?.stop());

  test("its nodes are known by certificates of that authority, for no longer than it gives them", async () => {
    const { client, url } = promised.plane;
    const keyed = keyedRequest({ commonName: "system:node:n1" });
    const token = "abcdef.0123456789abcdef";
    const made = await askAs(url, { token }, "POST", requests, signingRequest("n1", keyed));
    assert.equal(made.status, 201, made.message);
    const { status } = await untilObject<CertificateSigningRequest>(
      client,
      refs.certificatesigningrequests,
      "",
      "n1",
      (one) => one.status?.certificate !== undefined,
    );
    const cert = atob(status?.certificate ?? "");
    const { validToDate, validFromDate } = new X509Certificate(cert);
    assert.equal(validToDate.getTime() - validFromDate.getTime(), 3_600_000 + 300_000);
    const as = { cert, key: keyed.privateKey };
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: "n1" } };
    assert.equal((await askAs(url, as, "POST", "/api/v1/nodes", node)).status, 201);
  });

  test("pods find that root, and clients of the cluster both authorities", async () => {
    const { client } = promised.plane;
    const root = await untilObject<ConfigMap>(
      client,
      refs.configmaps,
      "default",
      "kube-root-ca.crt",
      () => true,
    );
    assert.deepEqual(root.data, { "ca.crt": "other root" });
    const name = "extension-apiserver-authentication";
    const known = await client.get<ConfigMap>(refs.configmaps, "kube-system", name);
    const bundle = known.data?.["client-ca-file"] ?? "";
    assert.equal(bundle.match(/BEGIN CERTIFICATE/g)?.length, 2);
    assert.ok(bundle.includes(authority.certificate));
  });

  test("the address is in Endpoints and EndpointSlice kubernetes, whatever the server listens on", async () => {
    const { client } = promised.plane;
    const port = Number(new URL(promised.plane.url).port);
    const endpoints = await client.get<Endpoints>(refs.endpoints, "default", "kubernetes");
    const [subset] = endpoints.subsets ?? [];
    assert.deepEqual(subset?.addresses, [{ ip: "192.0.2.9" }]);
    assert.deepEqual(subset?.ports, [{ name: "https", port, protocol: "TCP" }]);
    const slice = await client.get<EndpointSlice>(refs.endpointslices, "default", "kubernetes");
    assert.deepEqual(slice.endpoints?.[0]?.addresses, ["192.0.2.9"]);
  });
});
