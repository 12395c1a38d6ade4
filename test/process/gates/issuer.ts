/**
 * A small OpenID Connect issuer as a process of its own: `node issuer.ts DIRECTORY`.
 *
 * It serves `discovery.json` and `keys.json` of the directory as they are at that moment, over TLS with an authority
 * that it writes to `ca.pem`, and appends each path that is asked for to `asked.log`.
 */
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { makeAuthority, makeServerCertificate } from "#auth/pki.ts";

const [directory = "."] = process.argv.slice(2);
const nowMs = Date.now();
const validity = { notBeforeMs: nowMs - 3_600_000, notAfterMs: nowMs + 86_400_000 };
const serial = (byte: number) => ({ validity, serial: new Uint8Array(16).fill(byte) });
const authority = makeAuthority("issuer-ca", serial(1));
const names = ["localhost", "127.0.0.1"];
const { certificate, privateKey } = makeServerCertificate(authority, "issuer", names, serial(2));
writeFileSync(join(directory, "ca.pem"), authority.certificate);

const files: Readonly<Record<string, string>> = {
  "/.well-known/openid-configuration": "discovery.json",
  "/keys": "keys.json",
};

const server = createServer({ cert: certificate, key: privateKey }, (request, response) => {
  const path = request.url ?? "";
  appendFileSync(join(directory, "asked.log"), `${path}\n`);
  const file = files[path];
  if (file === undefined) response.writeHead(404).end();
  else {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(readFileSync(join(directory, file)));
  }
});
server.listen(0, "127.0.0.1", () => {
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server
  const discovery = {
    issuer: url,
    jwks_uri: `${url}/keys`,
    authorization_endpoint: `${url}/auth`,
    token_endpoint: `${url}/token`,
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["RS256", "ES256"],
  };
  writeFileSync(join(directory, "discovery.json"), JSON.stringify(discovery));
  console.log(`issuer ready in ${url}`);
});
