/** What is taken for a plain read, and what is left to node:http. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { plainHead } from "./http1-head.ts";

const lines = (...all: string[]): Buffer => Buffer.from(`${all.join("\r\n")}\r\n\r\n`, "latin1");

test("a plain head is method, decoded path, raw query and headers by lower-case name", () => {
  const read = lines("GET /a%20b?c=%201 HTTP/1.1", "Host: x", "User-Agent: kubectl/v1 (linux) x");
  assert.deepEqual(plainHead(read), {
    method: "GET",
    path: "/a b",
    query: "c=%201",
    headers: { host: "x", "user-agent": "kubectl/v1 (linux) x" },
  });
  assert.equal(
    plainHead(lines("HEAD / HTTP/1.1", "Host: x", "Connection: Keep-Alive"))?.method,
    "HEAD",
  );
});

test("whatever could mean two things, or more than a read, is not plain", () => {
  const get = "GET / HTTP/1.1";
  const odd: Readonly<Record<string, Buffer>> = {
    "a method with a body": lines("POST / HTTP/1.1", "Host: x"),
    "HTTP/1.0": lines("GET / HTTP/1.0", "Host: x"),
    "an absolute target": lines("GET http://x/ HTTP/1.1", "Host: x"),
    "a fragment": lines("GET /#a HTTP/1.1", "Host: x"),
    "a malformed escape": lines("GET /%zz HTTP/1.1", "Host: x"),
    "no host": lines(get, "Accept: x"),
    "two hosts": lines(get, "Host: x", "host: y"),
    "a header twice": lines(get, "Host: x", "Accept: a", "accept: b"),
    "a length": lines(get, "Host: x", "Content-Length: 0"),
    "a coding": lines(get, "Host: x", "Transfer-Encoding: chunked"),
    "an expectation": lines(get, "Host: x", "Expect: 100-continue"),
    "an upgrade": lines(get, "Host: x", "Connection: upgrade", "Upgrade: websocket"),
    "the last request": lines(get, "Host: x", "Connection: close"),
    "an impersonation": lines(get, "Host: x", "Impersonate-Group: a"),
    "a folded line": lines(get, "Host: x", "Accept: a", " b"),
    "space before the colon": lines(get, "Host : x"),
    "space around the value": lines(get, "Host:  x "),
    "an empty value": lines(get, "Host: x", "Accept: "),
    "a bare line feed": Buffer.from("GET / HTTP/1.1\nHost: x\n\n"),
    "a carriage return inside": lines(get, "Host: x", "Accept: a\rb"),
    "a zero byte": lines(get, "Host: x\0"),
    "more than ASCII": lines(get, "Host: x", "Accept: \xe4"),
    "half a head": Buffer.from("GET / HTTP/1.1\r\nHost: x\r\n"),
    "two heads": Buffer.concat([lines(get, "Host: x"), lines(get, "Host: x")]),
    "a head and more": Buffer.concat([lines(get, "Host: x"), Buffer.from("a\r\n\r\n")]),
    "a long head": lines(get, "Host: x", `Accept: ${"x".repeat(9_000)}`),
    "the name of what every object has": lines(get, "Host: x", "constructor: a", "__proto__: b"),
  };
  for (const [name, read] of Object.entries(odd)) assert.equal(plainHead(read), undefined, name);
});
