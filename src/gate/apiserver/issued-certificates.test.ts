/** Certificates that were issued to requests with a duration: what counts, and what counts as honored. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { makeAuthority } from "#auth/pki.ts";
import { ask, type Plane, withPlane } from "./testing/plane.ts";

const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const ofKubernetes = "kubernetes.io/kube-apiserver-client";
const serial = new Uint8Array(16).fill(7);
const hourMs = 3_600_000;
const base64 = (text: string): string => Buffer.from(text).toString("base64");

function certificateOf(ms: number): string {
  const notBeforeMs = Date.UTC(2026, 0);
  const validity = { notBeforeMs, notAfterMs: notBeforeMs + ms };
  return base64(makeAuthority("test-ca", { validity, serial }).certificate);
}

interface Asked {
  readonly signerName?: string;
  readonly expirationSeconds?: number;
}

const inAnHour: Asked = { expirationSeconds: 3_600 };

/** Creates a request and writes its status, as a signer does. */
async function sign(
  plane: Plane,
  name: string,
  { signerName = ofKubernetes, expirationSeconds }: Asked,
  certificate: string,
  query = "",
): Promise<void> {
  const pem = "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n";
  const object = {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name },
    spec: { request: base64(pem), usages: ["client auth"], signerName, expirationSeconds },
  };
  const made = await ask(plane, "POST", requests, { body: object });
  assert.equal(made.status, 201, made.text);
  await writeStatus(plane, name, certificate, query);
}

async function writeStatus(plane: Plane, name: string, certificate: string, query = "") {
  const done = await ask(plane, "PATCH", `${requests}/${name}/status${query}`, {
    body: { status: { certificate } },
    headers: { "content-type": "application/merge-patch+json" },
  });
  assert.equal(done.status, 200, done.text);
}

function series(plane: Plane): readonly string[] {
  const prefix = "apiserver_certificates_registry_csr_";
  const lines = plane.metrics.text().split("\n");
  return lines
    .filter((line) => line.startsWith(prefix))
    .map((line) => line.slice(prefix.length))
    .sort();
}

test("an issued certificate counts once, and as honored within five minutes and a twentieth", () =>
  withPlane(async (plane) => {
    const mostMs = hourMs + 300_000 + hourMs / 20;
    const exact = certificateOf(hourMs);
    await sign(plane, "exact", inAnHour, exact);
    await sign(plane, "late", inAnHour, certificateOf(mostMs - 1_000));
    await sign(plane, "long", inAnHour, certificateOf(mostMs));
    await writeStatus(plane, "exact", exact);
    assert.deepEqual(series(plane), [
      `honored_duration_total{signerName="${ofKubernetes}"} 2`,
      `requested_duration_total{signerName="${ofKubernetes}"} 3`,
    ]);
  }));

test("a dry run, a request without a duration and one without a certificate do not count", () =>
  withPlane(async (plane) => {
    await sign(plane, "dry", inAnHour, certificateOf(hourMs), "?dryRun=All");
    await sign(plane, "free", {}, certificateOf(hourMs));
    await sign(plane, "open", inAnHour, "");
    assert.deepEqual(series(plane), []);
  }));

test("signers that are not Kubernetes' own are one series, however many there are", () =>
  withPlane(async (plane) => {
    for (let at = 0; at < 5; at++)
      await sign(
        plane,
        `n${at}`,
        { ...inAnHour, signerName: `example.com/s${at}` },
        certificateOf(hourMs),
      );
    assert.deepEqual(series(plane), [
      'honored_duration_total{signerName="other"} 5',
      'requested_duration_total{signerName="other"} 5',
    ]);
  }));
