/** Certificates against node:crypto and a TLS handshake. */
import assert from "node:assert/strict";
import { createPrivateKey, randomBytes, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { connect, createServer } from "node:tls";
import { test } from "node:test";
import { certificateIdentity } from "./certificate.ts";
import {
  certificateHosts,
  makeAuthority,
  makeClientCertificate,
  makeServerCertificate,
} from "./pki.ts";

const day = 86_400_000;
const now = Date.UTC(2026, 0, 1);

function options(days: number) {
  const validity = { notBeforeMs: now - day, notAfterMs: now + days * day };
  return { validity, serial: new Uint8Array(randomBytes(16)) };
}

const authority = makeAuthority("test-ca", options(3650));

test("a leaf chains to its authority and says so to node's own verifier", () => {
  const leaf = makeServerCertificate(authority, "kube-apiserver", ["localhost"], options(365));
  const ca = new X509Certificate(authority.certificate);
  const cert = new X509Certificate(leaf.certificate);
  assert.ok(ca.ca);
  assert.ok(!cert.ca);
  assert.ok(ca.verify(ca.publicKey));
  assert.ok(cert.verify(ca.publicKey));
  assert.ok(cert.checkIssued(ca));
  assert.ok(cert.checkPrivateKey(createPrivateKey(leaf.privateKey)));
  assert.ok(cert.checkHost("localhost"));
});

test("names, IPv4 and IPv6 addresses become subject alternative names", () => {
  const hosts = ["kubernetes.default.svc", "127.0.0.1", "10.96.0.1"];
  const leaf = makeServerCertificate(authority, "x", [...hosts, "::1"], options(365));
  const cert = new X509Certificate(leaf.certificate);
  assert.ok(cert.checkIP("127.0.0.1"));
  assert.ok(cert.checkIP("::1"));
  assert.deepEqual(certificateHosts(leaf.certificate), [...hosts, "0:0:0:0:0:0:0:1"]);
});

test("a client certificate carries user and groups, also with commas and non-ASCII in them", () => {
  const subject = { commonName: "jösé", organizations: ["system:masters", "a,b+c"] };
  const client = makeClientCertificate(authority, subject, options(365));
  const raw = new Uint8Array(new X509Certificate(client.certificate).raw);
  const identity = certificateIdentity(raw);
  assert.equal(identity?.commonName, "jösé");
  assert.deepEqual(identity?.organizations, ["system:masters", "a,b+c"]);
  assert.equal(identity?.notAfterMs, now + 365 * day);
});

test("a leaf never outlives its authority", () => {
  const leaf = makeServerCertificate(authority, "x", ["h"], options(10_000));
  const ca = new X509Certificate(authority.certificate);
  assert.equal(new X509Certificate(leaf.certificate).validTo, ca.validTo);
});

test("dates after 2050 survive the other time encoding", () => {
  const far = makeAuthority("far", options(365 * 40));
  const expected = Math.floor((now + 365 * 40 * day) / 1000) * 1000;
  assert.equal(new X509Certificate(far.certificate).validToDate.getTime(), expected);
});

test("a TLS server and a client trust each other through the authority alone", async () => {
  const fresh = {
    validity: { notBeforeMs: Date.now() - day, notAfterMs: Date.now() + day },
    serial: new Uint8Array(randomBytes(16)),
  };
  const ca = makeAuthority("live-ca", fresh);
  const server = makeServerCertificate(ca, "srv", ["localhost", "127.0.0.1"], fresh);
  const client = makeClientCertificate(ca, { commonName: "u", organizations: ["g"] }, fresh);
  const listener = createServer({
    cert: server.certificate,
    key: server.privateKey,
    ca: ca.certificate,
    requestCert: true,
    rejectUnauthorized: true,
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as { port: number };
  const accepted = once(listener, "secureConnection");
  const socket = connect({
    host: "127.0.0.1",
    port,
    ca: ca.certificate,
    cert: client.certificate,
    key: client.privateKey,
  });
  await once(socket, "secureConnect");
  const [peer] = await accepted;
  assert.ok(socket.authorized);
  assert.ok(peer.authorized);
  socket.destroy();
  peer.destroy();
  listener.close();
  await once(listener, "close");
});
