/**
 * Malformed requests and invalid credentials, at the API server and at a relay: they are answered with the
 * status and the words of a stock kube-apiserver 1.36.3, never by a cut connection.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { connect } from "node:http2";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { makeAuthority, makeClientCertificate } from "#auth/pki.ts";
import { removeDirectory, startUp, temporaryDirectory, type Running } from "../process/harness.ts";
import { rawAnswer } from "./raw-answers.ts";

const host = "Host: a\r\n";
const get = `GET /version HTTP/1.1\r\n`;

/** What is sent, and how the answer begins and ends. */
const refusals: readonly (readonly [name: string, sent: string, status: string])[] = [
  ["a head of 70 KB", `${get}${host}X: ${"x".repeat(70_000)}\r\n\r\n`, tooLarge()],
  ["a head of 2 MB", `${get}${host}X: ${"x".repeat(2 ** 21)}\r\n\r\n`, tooLarge()],
  [
    "3,000 headers of 31 bytes",
    `${get}${host}${`X: ${"1".repeat(26)}\r\n`.repeat(3_000)}\r\n`,
    tooLarge(),
  ],
  ["no HTTP", "nonsense\r\n\r\n", "400 Bad Request"],
  ["bytes", "\x01\x02\x03\r\n\r\n", "400 Bad Request"],
  ["a method that is no token", `GE(T /version HTTP/1.1\r\n${host}\r\n`, "400 Bad Request"],
  ["a path with a space", `GET /a b HTTP/1.1\r\n${host}\r\n`, "400 Bad Request"],
  ["a path with a broken escape", `GET /a%zz HTTP/1.1\r\n${host}\r\n`, "400 Bad Request"],
  ["a header without a colon", `${get}${host}nothing\r\n\r\n`, "400 Bad Request"],
  ["a header with a zero byte", `${get}${host}A: a\0b\r\n\r\n`, "400 Bad Request"],
  [
    "two lengths",
    `POST /a HTTP/1.1\r\n${host}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`,
    "400 Bad Request",
  ],
  [
    "a length that is none",
    `POST /a HTTP/1.1\r\n${host}Content-Length: x\r\n\r\n`,
    "400 Bad Request",
  ],
  ["two hosts", `${get}${host}Host: b\r\n\r\n`, "400 Bad Request"],
  ["one host twice", `${get}${host}${host}\r\n`, "400 Bad Request"],
  ["no host", `${get}\r\n`, "400 Bad Request: missing required Host header"],
  ["a host with a space", `${get}Host: a b\r\n\r\n`, "400 Bad Request: malformed Host header"],
  ["a host that is a path", `${get}Host: a/b@c\r\n\r\n`, "400 Bad Request: malformed Host header"],
  [
    "a version to come",
    `GET /version HTTP/3.0\r\n${host}\r\n`,
    "505 HTTP Version Not Supported: unsupported protocol version",
  ],
  ["CONNECT", `CONNECT h:443 HTTP/1.1\r\n${host}\r\n`, "405 Method Not Allowed"],
];

function tooLarge(): string {
  return "431 Request Header Fields Too Large";
}

describe("the rim", () => {
  const directory = temporaryDirectory("rim");
  const pki = join(directory, "data", "pki");
  let up: Running;
  let ports: readonly number[] = [];
  before(async () => {
    const flags = ["--data-dir", join(directory, "data"), "--port", "0", "--nodes", "0"];
    up = await startUp([...flags, "--relay", "127.0.0.1:0"]);
    const relay = /relay\s+https:\/\/127\.0\.0\.1:(\d+)/.exec(up.output())?.[1];
    ports = [Number(new URL(up.url).port), Number(relay)];
  });
  after(async () => {
    assert.equal(await up.stop(), 0, up.output());
    removeDirectory(directory);
  });

  for (const [name, sent, status] of refusals) {
    test(`${name} is answered ${status}`, async () => {
      for (const port of ports) {
        const { text, end } = await rawAnswer(port, sent);
        assert.equal(end, "FIN");
        assert.ok(text.startsWith(`HTTP/1.1 ${status}\r\n`), text.slice(0, 300));
        assert.match(text, /\r\ncontent-type: text\/plain; charset=utf-8\r\n/i);
        assert.match(text, /\r\nconnection: close\r\n/i);
        assert.ok(text.endsWith(`\r\n\r\n${status}`), text.slice(0, 300));
      }
    });
  }

  test("plain HTTP on a port of TLS is told so", async () => {
    for (const port of ports) {
      for (const sent of [
        `${get}${host}\r\n`,
        `POST /a HTTP/1.1\r\n${host}\r\n`,
        "HEAD / HTTP/1.1\r\n\r\n",
      ]) {
        const { text } = await rawAnswer(port, sent, "none");
        assert.equal(
          text,
          "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n",
        );
      }
    }
  });

  test("a request behind which nonsense comes is answered first", async () => {
    for (const port of ports) {
      const { text } = await rawAnswer(port, `${get}${host}\r\nnonsense\r\n\r\n`);
      assert.match(text, /^HTTP\/1\.1 200 OK[\s\S]*"major"[\s\S]*HTTP\/1\.1 400 Bad Request/);
    }
  });

  const read = (name: string): string => readFileSync(join(pki, name), "utf8");

  test("a certificate that was tampered with, or is of another authority, is 401, over HTTP/1.1 and HTTP/2", async () => {
    const mine = { cert: read("admin.crt"), key: read("admin.key") };
    const nowMs = Date.now();
    const issue = {
      validity: { notBeforeMs: nowMs - 60_000, notAfterMs: nowMs + 3_600_000 },
      serial: randomBytes(16),
    };
    // Of the very name, too: only its key differs.
    const stranger = makeClientCertificate(
      makeAuthority("pilothouse-ca", issue),
      { commonName: "kubernetes-admin", organizations: ["system:masters"] },
      issue,
    );
    const credentials = [
      ...tampered(mine.cert).map((cert) => ({ ...mine, cert })),
      { cert: stranger.certificate, key: stranger.privateKey },
    ];
    const path = "/api/v1/namespaces";
    const request = `GET ${path} HTTP/1.1\r\n${host}Connection: close\r\n\r\n`;
    for (const port of ports) {
      assert.match((await rawAnswer(port, request, mine)).text, /^HTTP\/1\.1 200 OK/);
      for (const credential of credentials) {
        for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const) {
          const { text } = await rawAnswer(port, request, { ...credential, maxVersion });
          assert.match(text, /^HTTP\/1\.1 401 Unauthorized/, maxVersion);
          assert.match(text, /"reason":"Unauthorized","code":401/);
        }
        assert.equal(await statusOver2(port, path, credential), 401);
      }
    }
  });

  test("a long certificate with a wrong signature gets 401 or a cut connection, and never more", async () => {
    const nowMs = Date.now();
    const issue = {
      validity: { notBeforeMs: nowMs - 60_000, notAfterMs: nowMs + 3_600_000 },
      serial: randomBytes(16),
    };
    // As long as one with an RSA key.
    const organizations = [
      "system:masters",
      ...Array.from({ length: 20 }, (_, at) => `group-${at}`),
    ];
    const subject = { commonName: "kubernetes-admin", organizations };
    const authority = { certificate: read("ca.crt"), privateKey: read("ca.key") };
    const { certificate: cert, privateKey: key } = makeClientCertificate(authority, subject, issue);
    const request = `GET /api/v1/namespaces HTTP/1.1\r\n${host}Connection: close\r\n\r\n`;
    for (const port of ports) {
      for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const) {
        const good = await rawAnswer(port, request, { cert, key, maxVersion });
        assert.match(good.text, /^HTTP\/1\.1 200 OK/);
        for (const forged of tampered(cert)) {
          const { text } = await rawAnswer(port, request, { cert: forged, key, maxVersion });
          assert.match(text, /^(?:$|HTTP\/1\.1 401 Unauthorized)/);
        }
      }
    }
  });

  test("over HTTP/2 a head of 70 KB is 431, and 300 headers are read", async () => {
    for (const port of ports) {
      const long = { "x-a": "x".repeat(35_000), "x-b": "x".repeat(35_000) };
      assert.equal(await statusOver2(port, "/version", {}, long), 431);
      const many = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`x-${at}`, "1"]));
      assert.equal(await statusOver2(port, "/version", {}, many), 200);
      assert.equal(await statusOver2(port, "/a%zz", {}), 400);
    }
  });
});

/** A bit of its signature, of its user's name, and of its group's. */
function tampered(pem: string): readonly string[] {
  const der = Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ""), "base64");
  const places = [
    der.length - 1,
    der.length - 20,
    der.lastIndexOf("kubernetes-admin") + 3,
    der.indexOf("system:masters") + 3,
  ];
  return places.map((at) => {
    const other = Buffer.from(der);
    other.writeUInt8(other.readUInt8(at) ^ 1, at);
    const text = other.toString("base64").replace(/.{64}/g, "$&\n");
    return `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`;
  });
}

function statusOver2(
  port: number,
  path: string,
  credential: { readonly cert?: string; readonly key?: string },
  headers: Readonly<Record<string, string>> = {},
): Promise<number> {
  return new Promise((resolve, reject) => {
    const session = connect(`https://127.0.0.1:${port}`, {
      rejectUnauthorized: false,
      // The client's own bound on what it sends.
      maxSendHeaderBlockLength: 2 ** 20,
      ...credential,
    });
    session.on("error", reject);
    const stream = session.request({ ...headers, ":path": path });
    stream.on("response", (head) => resolve(Number(head[":status"])));
    stream.on("error", reject);
    stream.on("close", () => session.destroy());
    stream.resume();
  });
}
