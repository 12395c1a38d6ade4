/** CORS and HSTS on answers over a socket, as kube-apiserver's filters have them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { noBody } from "#platform/node/http/http-body.ts";
import type { PlainHandler, PlainRequest } from "#platform/http.ts";
import { withAnswerHeaders } from "./answer-headers.ts";

let asked = 0;
const handler: PlainHandler = () => {
  asked += 1;
  return Promise.resolve({
    kind: "bytes",
    status: 401,
    headers: { "content-type": "application/json" },
    body: [],
  });
};

function requestOf(method: string, headers: Readonly<Record<string, string>>): PlainRequest {
  const peer = { kind: "socket", address: "127.0.0.1" } as const;
  const { signal } = new AbortController();
  return { method, path: "/api", query: "", headers, body: noBody, peer, signal };
}

const allowsOrigin = (origin: string): boolean => origin === "https://console.example.com";

test("without wishes the handler stays as it is", () => {
  assert.equal(withAnswerHeaders(handler, {}), handler);
});

test("a page that is allowed may read any answer, a refusal too", async () => {
  const wrapped = withAnswerHeaders(handler, { allowsOrigin });
  const answer = await wrapped(requestOf("GET", { origin: "https://console.example.com" }));
  assert.equal(answer.status, 401);
  assert.deepEqual(answer.headers, {
    "access-control-allow-origin": "https://console.example.com",
    "access-control-allow-methods": "POST, GET, OPTIONS, PUT, DELETE, PATCH",
    "access-control-allow-headers":
      "Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since",
    "access-control-expose-headers": "Date",
    "access-control-allow-credentials": "true",
    "content-type": "application/json",
  });
});

test("a preflight of an allowed page ends before the handler; another page's is an ordinary request", async () => {
  const wrapped = withAnswerHeaders(handler, { allowsOrigin });
  asked = 0;
  const allowed = await wrapped(requestOf("OPTIONS", { origin: "https://console.example.com" }));
  assert.deepEqual([allowed.status, asked], [204, 0]);
  const other = await wrapped(requestOf("OPTIONS", { origin: "https://evil.example.com" }));
  assert.deepEqual([other.status, asked], [401, 1]);
  assert.equal(other.headers["access-control-allow-origin"], undefined);
});

test("a header longer than any origin is not matched", async () => {
  const wrapped = withAnswerHeaders(handler, { allowsOrigin: () => true });
  const answer = await wrapped(requestOf("GET", { origin: `https://${"a".repeat(5_000)}` }));
  assert.equal(answer.headers["access-control-allow-origin"], undefined);
});

test("browsers are told to come over TLS alone", async () => {
  const wrapped = withAnswerHeaders(handler, { transportSecurity: "max-age=31536000; preload" });
  const { headers } = await wrapped(requestOf("GET", {}));
  assert.equal(headers["strict-transport-security"], "max-age=31536000; preload");
});
