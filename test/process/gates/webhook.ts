/**
 * A small webhook for SubjectAccessReview and TokenReview as a process of its own: `node webhook.ts DIRECTORY`.
 *
 * What it answers follows from the user or the token; each review is appended to `asked.log`. It writes a kubeconfig that
 * leads to it.
 */
import { appendFileSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { makeAuthority, makeServerCertificate } from "#auth/pki.ts";

const [directory = "."] = process.argv.slice(2);
const nowMs = Date.now();
const validity = { notBeforeMs: nowMs - 3_600_000, notAfterMs: nowMs + 86_400_000 };
const serial = (byte: number) => ({ validity, serial: new Uint8Array(16).fill(byte) });
const authority = makeAuthority("webhook-ca", serial(1));
const names = ["localhost", "127.0.0.1"];
const { certificate, privateKey } = makeServerCertificate(authority, "webhook", names, serial(2));

interface Review {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec: { readonly user?: string; readonly token?: string };
}

const accessAnswers: Readonly<Record<string, object>> = {
  allowed: { allowed: true, reason: "said the webhook" },
  denied: { allowed: false, denied: true, reason: "never, said the webhook" },
  both: { allowed: true, denied: true },
  liar: { allowed: "true" },
};

const tokenAnswers: Readonly<Record<string, object>> = {
  good: {
    authenticated: true,
    user: { username: "hooked", uid: "7", groups: ["g"], extra: { "example.com/x": ["y"] } },
  },
  audience: { authenticated: true, user: { username: "hooked" }, audiences: ["elsewhere"] },
  refused: { authenticated: false, error: "the webhook does not know it" },
  liar: { authenticated: "true", user: { username: "kubernetes-admin" } },
  nameless: { authenticated: true, user: {} },
};

function answer(response: ServerResponse, { apiVersion, kind, spec }: Review): void {
  const who = kind === "TokenReview" ? (spec.token ?? "") : (spec.user ?? "");
  if (who === "slow") return;
  if (who === "broken") return void response.destroy();
  if (who === "huge") return void response.writeHead(200).end("x".repeat(4 * 1024 * 1024));
  if (who === "garbage") return void response.writeHead(200).end("{");
  if (who === "refusing") return void response.writeHead(403).end("no");
  const answers = kind === "TokenReview" ? tokenAnswers : accessAnswers;
  const none = kind === "TokenReview" ? { authenticated: false } : { allowed: false };
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ apiVersion, kind, status: answers[who] ?? none }));
}

const server = createServer({ cert: certificate, key: privateKey }, (request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const review = JSON.parse(Buffer.concat(chunks).toString()) as Review;
    const { authorization } = request.headers;
    const line = { path: request.url, authorization, review };
    appendFileSync(join(directory, "asked.log"), `${JSON.stringify(line)}\n`);
    answer(response, review);
  });
});
server.listen(0, "127.0.0.1", () => {
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/review`; // a TCP server
  const ca = Buffer.from(authority.certificate).toString("base64");
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "webhook",
    contexts: [{ name: "webhook", context: { cluster: "webhook", user: "server" } }],
    clusters: [{ name: "webhook", cluster: { server: url, "certificate-authority-data": ca } }],
    users: [{ name: "server", user: { token: "of-the-server" } }],
  };
  writeFileSync(join(directory, "kubeconfig"), JSON.stringify(kubeconfig));
  console.log(`webhook ready in ${url}`);
});
