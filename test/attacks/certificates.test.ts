/**
 * Certificate signing requests against a whole control plane: who asked is what the server knows, nobody
 * asks for system:masters, and approving and signing needs the right to the signer. Answers are those of
 * stock kube-apiserver 1.36.3.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type AttackedServer, openPlane, openStock } from "./attacked-plane.ts";
import { findPeer, noPeer } from "../process/peers.ts";
import {
  certificateCases,
  certificateWorld,
  requestBody,
  requester,
  requests,
} from "./certificate-cases.ts";
import { certificateRequest } from "./certificate-requests.ts";
import { compareAnswers, type Known, prepare, shown } from "./recorded.ts";
import answers from "./answers/certificates.json" with { type: "json" };

const stock = findPeer("kube-apiserver");

/** Runs on both servers: what is stored is the same. */
function attackRequests(open: () => Promise<AttackedServer>): void {
  let server: AttackedServer;
  let uid: Known;

  before(async () => {
    server = await open();
    uid = await prepare(server, certificateWorld);
  });
  after(() => server?.stop());

  test("requests, approvals and signatures are answered as recorded", () =>
    compareAnswers(server, uid, certificateCases, answers));

  test("the requester is noted by the server, whatever the request says", async () => {
    const forged = { username: "root", uid: "0", groups: ["system:masters"], extra: { a: ["b"] } };
    const made = await server.request({
      as: requester,
      method: "POST",
      path: requests,
      body: requestBody("forged", forged),
    });
    assert.equal(made.status, 201);
    const spec = made.body["spec"];
    assert.equal(spec?.["username"], "mallory");
    assert.equal(spec?.["uid"], "mallory-uid");
    assert.deepEqual(spec?.["groups"], ["devs", "system:authenticated"]);
    assert.equal(spec?.["extra"], undefined);
  });

  test("a requester without a uid has none, also when the request says one", async () => {
    const made = await server.request({
      as: { name: "mallory", groups: [] },
      method: "POST",
      path: requests,
      body: requestBody("nobody", { uid: "0", extra: { "example.com/a": ["b"] } }),
    });
    assert.equal(made.status, 201);
    assert.equal(made.body["spec"]?.["uid"], undefined);
    assert.equal(made.body["spec"]?.["extra"], undefined);
  });

  test("the requester does not change with updates, by any way", async () => {
    const forged = { spec: { username: "root", uid: "0", groups: ["system:masters"] } };
    for (const path of ["forged", "forged/status", "forged/approval"]) {
      const patched = await server.request({
        as: requester,
        method: "PATCH",
        path: `${requests}/${path}`,
        body: forged,
        type: "application/merge-patch+json",
      });
      assert.ok(patched.status === 200 || patched.status === 403, shown(patched));
    }
    const stored = await server.request({ method: "GET", path: `${requests}/forged` });
    assert.equal(stored.body["spec"]?.["username"], "mallory");
    assert.equal(stored.body["spec"]?.["uid"], "mallory-uid");
    assert.deepEqual(stored.body["spec"]?.["groups"], ["devs", "system:authenticated"]);
  });

  test("apply notes the requester too", async () => {
    const made = await server.request({
      as: requester,
      method: "PATCH",
      path: `${requests}/applied?fieldManager=m`,
      body: requestBody("applied", { username: "root", groups: ["system:masters"], uid: "0" }),
      type: "application/apply-patch+yaml",
    });
    assert.equal(made.status, 201, shown(made));
    assert.equal(made.body["spec"]?.["username"], "mallory");
    assert.equal(made.body["spec"]?.["uid"], "mallory-uid");
  });

  test("a request whose signature is another key's is refused", async () => {
    const request = certificateRequest({ commonName: "mallory" }, { forged: true });
    const body = requestBody("unsigned", { request });
    const made = await server.request({ as: requester, method: "POST", path: requests, body });
    const text = shown(made).replace(request, "REQUEST");
    assert.equal(
      text,
      '422 CertificateSigningRequest.certificates.k8s.io "unsigned" is invalid: spec.request: Invalid value: "REQUEST": x509: ECDSA verification failure',
    );
  });

  test("a harmless request before the one that is meant hides nothing", async () => {
    const decode = (request: string): string => Buffer.from(request, "base64").toString();
    const harmless = decode(certificateRequest({ commonName: "mallory" }));
    const masters = decode(
      certificateRequest({ commonName: "mallory", organizations: ["system:masters"] }),
    );
    const signerName = "kubernetes.io/kube-apiserver-client";
    for (const text of [
      `x${harmless}${masters}`,
      `${harmless.replace("REQUEST-----\n", "REQUEST-----")}${masters}`,
      `${harmless.replace("\n-----END", "-----END")}${masters}`,
      `${harmless.replace(/-----END.*/, "-----END CERTIFICATE-----")}${masters}`,
    ]) {
      const request = Buffer.from(text).toString("base64");
      const body = requestBody("decoy", { signerName, request });
      const made = await server.request({ as: requester, method: "POST", path: requests, body });
      assert.ok(made.status === 403 || made.status === 422, `${made.status} ${text}`);
    }
  });

  test("a request that is no PEM, or PEM of something else, is refused", async () => {
    for (const content of [
      "",
      "x",
      "-----BEGIN CERTIFICATE-----\neA==\n-----END CERTIFICATE-----\n",
    ]) {
      const request = Buffer.from(content).toString("base64");
      const body = requestBody("none", { request });
      const made = await server.request({ as: requester, method: "POST", path: requests, body });
      assert.match(shown(made), /^422 .*PEM block type must be CERTIFICATE REQUEST/);
    }
  });
}

describe("certificate signing requests", () => attackRequests(openPlane));

describe(
  "certificate signing requests of a stock server",
  {
    skip: stock === undefined ? noPeer("kube-apiserver") : false,
  },
  () => attackRequests(() => openStock(stock ?? "")),
);
