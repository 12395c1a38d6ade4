/**
 * Requests without a credential, and with one that nobody vouches for: answers of stock kube-apiserver 1.36.3.
 * Nobody in particular is system:anonymous, about whom the authorizer decides; a bad credential is 401 anywhere.
 */
import assert from "node:assert/strict";
import https from "node:https";
import { after, before, describe, test } from "node:test";
import { findPeer, noPeer } from "../process/peers.ts";
import { type AttackedServer, openPlane, openStock } from "./attacked-plane.ts";
import recorded from "./answers/anonymous.json" with { type: "json" };

const stock = findPeer("kube-apiserver");

interface Call {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
}

const pods = "/api/v1/namespaces/default/pods";
const review = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const paths = [
  "/",
  "/api",
  "/api/v1",
  "/apis",
  "/apis/apps/v1",
  "/foo",
  "/healthz",
  "/healthz/ping",
  "/livez",
  "/livez/ping",
  "/readyz",
  "/readyz/ping",
  "/version",
  "/version/",
  "/versions",
  "/metrics",
  "/openapi/v2",
  "/openapi/v3",
  "/.well-known/openid-configuration",
  "/openid/v1/jwks",
  "/api/v1/pods",
  pods,
  `${pods}/a`,
  `${pods}?watch=true`,
  `${pods}/a/log`,
  `${pods}/a/exec?command=id`,
  "/api/v1/nodes/n1/proxy/metrics",
  "/api/v1/namespaces/kube-public/configmaps/cluster-info",
  "/api/v1/namespaces/kube-system/secrets/s",
  "/apis/example.com/v1/things",
];

const calls: readonly Call[] = [
  ...paths.map((path) => ({ path })),
  { method: "POST", path: pods, body: {} },
  { method: "PUT", path: `${pods}/a`, body: {} },
  { method: "PATCH", path: `${pods}/a`, body: {} },
  { method: "DELETE", path: `${pods}/a` },
  { method: "DELETE", path: pods },
  { method: "POST", path: review, body: {} },
  { method: "HEAD", path: "/api" },
  { method: "OPTIONS", path: "/api" },
  { path: "/api", headers: { authorization: "Basic YTpi" } },
  { path: "/api", headers: { authorization: "Bearer" } },
  ...["/healthz", "/version", "/api", "/foo", pods].map((path) => ({
    path,
    headers: { authorization: "Bearer nobodys" },
  })),
  { path: "/api", headers: { authorization: "Bearer abcdef.0123456789abcdef" } },
];

function title({ method = "GET", path, headers = {} }: Call): string {
  const shown = Object.entries(headers).map(([name, value]) => ` ${name}: ${value}`);
  return `${method} ${path}${shown.join("")}`;
}

/** Status and message; the status alone where no Status came. */
function answer(url: string, { method = "GET", path, headers = {}, body }: Call): Promise<string> {
  const type = body === undefined ? {} : { "content-type": "application/json" };
  const all = { ...headers, ...type };
  return new Promise((resolve, reject) => {
    const options = { method, headers: all, rejectUnauthorized: false, agent: false } as const;
    const call = https.request(url + path, options, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (text += chunk));
      response.on("error", reject);
      response.on("end", () => resolve(`${response.statusCode} ${messageOf(text)}`.trim()));
    });
    call.on("error", reject);
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

function messageOf(text: string): string {
  try {
    const { kind, message, reason } = JSON.parse(text) as Readonly<Record<string, string>>;
    return kind === "Status" ? `${reason}: ${message}` : "";
  } catch {
    return "";
  }
}

function ask(open: () => Promise<AttackedServer>): void {
  let server: AttackedServer;

  before(async () => {
    server = await open();
  });
  after(() => server?.stop());

  test("each request is answered as recorded", async () => {
    const actual: Record<string, string> = {};
    for (const call of calls) actual[title(call)] = await answer(server.url, call);
    assert.deepEqual(actual, recorded);
  });
}

describe("requests without a credential", () => ask(openPlane));

describe(
  "requests without a credential to a stock server",
  { skip: stock === undefined ? noPeer("kube-apiserver") : false },
  () => ask(() => openStock(stock ?? "")),
);
