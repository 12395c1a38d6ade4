/**
 * The data of a ControllerRevision keeps the spelling that the client sent, as a stock server keeps it: bodies are
 * compared as text here, which the other suites parse. What stock answered is in the table, and asked again
 * where a stock server is at hand.
 */
import assert from "node:assert/strict";
import https from "node:https";
import { test } from "node:test";
import { stockPrograms } from "../process/peers.ts";
import type { Target } from "./send.ts";
import { type Server, startOurs, startStock } from "./servers.ts";

const path = "/apis/apps/v1/namespaces/default/controllerrevisions";
const odd =
  '{ "b":2.0, "a" : 1e3,"10":1,"9":"<&>\\u0041\\/","a":{"z":null,"y":[ ],"x":-0,"w":0.10},' +
  ' "big": 18446744073709551616, "é":"\\ud83d\\ude00 \u2028"}';
const kept =
  '"data":{"b":2.0,"a":1e3,"10":1,"9":"\\u003c\\u0026\\u003e\\u0041\\/","a":{"z":null,"y":[],"x":-0,"w":0.10},' +
  '"big":18446744073709551616,"é":"\\ud83d\\ude00 \\u2028"}';
const noObject = '"message":"Required value: data must be a valid JSON object","field":"data"';
const immutable = (data: string): string =>
  `"message":${JSON.stringify(`Invalid value: ${data}: field is immutable`)},"field":"data"`;

interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  readonly type?: string;
  readonly status: number;
  /** A part of the answer. */
  readonly says: string;
  readonly warning?: string;
}

function sent(data: string, revision: number, name = "odd"): string {
  return `{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"${name}"},"data":${data},"revision":${revision}}`;
}

const dry = `${path}?dryRun=All&fieldValidation=Strict`;
const post = (body: string, status: number, says: string, to = dry): Exchange => ({
  method: "POST",
  path: to,
  body,
  status,
  says,
});
const exchanges: readonly Exchange[] = [
  post(sent(odd, 1), 201, kept),
  ...["2.0", "[1.0, 2]", '"a"', "true"].map((data) => post(sent(data, 1), 422, noObject)),
  post(sent("null", 1), 422, '"message":"Required value: data is mandatory"'),
  post(sent(" { } ", 1), 201, '"data":{}'),
  {
    ...post(sent(`1,"data":${odd}`, 1), 201, kept, path),
    warning: '299 - "duplicate field \\"data\\""',
  },
  { method: "GET", path: `${path}/odd`, status: 200, says: kept },
  { method: "GET", path, status: 200, says: kept },
  { method: "PUT", path: `${path}/odd`, body: sent(odd, 2), status: 200, says: kept },
  {
    method: "PUT",
    path: `${path}/odd`,
    body: sent('{"b":2.00}', 2),
    status: 422,
    says: immutable('{"b":2.00}'),
  },
  {
    ...post(
      'apiVersion: apps/v1\nkind: ControllerRevision\nmetadata: {name: yaml}\ndata: {b: 2.0, a: 1e3, "10": 1, "9": 2}\nrevision: 1\n',
      201,
      '"data":{"10":1,"9":2,"a":1000,"b":2}',
      path,
    ),
    type: "application/yaml",
  },
];

test("the data of a ControllerRevision keeps its spelling", () => check(startOurs()));

test("and a change of something else keeps it", async () => {
  const server = await startOurs();
  try {
    await ask(server, post(sent(odd, 1), 201, kept, path));
    const patch = { method: "PATCH", path: `${path}/odd`, status: 200, says: kept };
    const changes = [
      ["application/merge-patch+json", '{"revision":3}'],
      ["application/json-patch+json", '[{"op":"replace","path":"/revision","value":4}]'],
      ["application/strategic-merge-patch+json", '{"metadata":{"labels":{"a":"b"}}}'],
    ] as const;
    for (const [type, body] of changes) await ask(server, { ...patch, type, body });
  } finally {
    await server.stop();
  }
});

const programs = stockPrograms();
const skip = programs === undefined ? "no stock API server to ask again" : false;

test("a stock server answers as the table says", { skip }, async () => {
  if (programs !== undefined) await check(startStock(programs));
});

async function check(starting: Promise<Server>): Promise<void> {
  const server = await starting;
  try {
    for (const exchange of exchanges) await ask(server, exchange);
  } finally {
    await server.stop();
  }
}

function ask({ url, agent, headers }: Target, exchange: Exchange): Promise<void> {
  const { method, body, type = "application/json", status, says, warning } = exchange;
  return new Promise((resolve, reject) => {
    const options = { method, agent, headers: { ...headers, "content-type": type } };
    const request = https.request(url + exchange.path, options, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (text += chunk));
      response.on("error", reject);
      response.on("end", () => {
        try {
          const what = `${method} ${body ?? ""}: ${text}`;
          assert.equal(response.statusCode, status, what);
          assert.ok(text.includes(says), what);
          assert.equal(response.headers["warning"], warning, what);
          resolve();
        } catch (error) {
          reject(error as Error); // an assertion
        }
      });
    });
    request.on("error", reject);
    request.end(body);
  });
}
