/** What stands before a body: paths, queries, headers, credentials; and bodies of reviews and requests. */
import { type Attack, filled, json } from "../attack.ts";

/** Just below the limit of a request's head. */
const headMax = 60_000;
const pods = "/api/v1/pods";
const several = [200, 400, 401, 403, 404, 406, 413, 414, 422, 431];
const short = { bytesMax: headMax, separator: "" };

function get(name: string, path: string, headers: Readonly<Record<string, string>> = {}): Attack {
  return { name, requests: [{ method: "GET", path, headers }], expect: several };
}

function post(name: string, path: string, body: () => string): Attack {
  const request = { method: "POST", path, contentType: json, body };
  return { name, requests: [request], expect: [201, 400, 413, 422, 500] };
}

const authorization = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

export const headAttacks: readonly Attack[] = [
  get(
    "a query of many parameters",
    filled(`${pods}?`, () => "a&", "", short),
  ),
  get(
    "a query of many escapes",
    filled(`${pods}?a=`, () => "%C3%A9", "", short),
  ),
  get(
    "a path of many segments",
    filled("/", () => "a/", "", short),
  ),
  get("a path of slashes", "/".repeat(headMax)),
  get(
    "a path of escapes",
    filled("/api/v1/namespaces/", () => "%25", "/pods", short),
  ),
  get("an Accept of many clauses", pods, {
    accept: filled("", () => "a/b", "", { bytesMax: headMax }),
  }),
  get("an Accept of many parameters", pods, {
    accept: filled("a/b", (i) => `;a${i}=1`, "", short),
  }),
  get("an Accept-Encoding of many", pods, { "accept-encoding": "a,".repeat(headMax / 2) }),
  get("an If-None-Match of many", "/openapi/v2", { "if-none-match": "a,".repeat(headMax / 2) }),
  get("a cookie", pods, { cookie: "a=b;".repeat(headMax / 4) }),
  get("a bearer token of dots", pods, { authorization: `Bearer ${".".repeat(headMax)}` }),
  get("a bearer token of a long head", pods, {
    authorization: `Bearer ${Buffer.from(`{"alg":"RS256","x":"${"y".repeat(headMax / 2)}"}`).toString("base64url")}.e30.AA`,
  }),
  get("a user agent", pods, { "user-agent": "x/".repeat(headMax / 2) }),
  get("impersonated groups", pods, {
    "impersonate-user": "u",
    "impersonate-group": "g,".repeat(headMax / 2),
  }),
  get("a continue token", `${pods}?limit=1&continue=${"A".repeat(headMax)}`),
  get("a resource version", `${pods}?resourceVersion=${"9".repeat(headMax)}`),
  get(
    "a label selector",
    filled(`${pods}?labelSelector=`, (i) => `a${i},`, "", short),
  ),
  get(
    "a label selector of a set",
    filled(`${pods}?labelSelector=a+in+(`, (i) => `b${i},`, "c)", short),
  ),
  get(
    "a field selector",
    filled(`${pods}?fieldSelector=`, () => "metadata.name!=a,", "", short),
  ),
  post(
    "a review of a long token",
    "/apis/authentication.k8s.io/v1/tokenreviews",
    () => `{"spec":{"token":"${"a.".repeat(1_500_000)}"}}`,
  ),
  post("a review of many groups", authorization, () =>
    filled(
      `{"spec":{"user":"u","resourceAttributes":{"verb":"get","resource":"pods"},"groups":[`,
      (i) => `"g${i}"`,
      "]}}",
      { countMax: 60_000 },
    ),
  ),
  post("a review of many extras", authorization, () =>
    filled(
      `{"spec":{"user":"u","resourceAttributes":{"verb":"get","resource":"pods"},"extra":{`,
      (i) => `"e${i}":["x"]`,
      "}}}",
      { countMax: 8_000 },
    ),
  ),
  post(
    "a certificate request of a long text",
    "/apis/certificates.k8s.io/v1/certificatesigningrequests",
    () => {
      const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${"MIIB".repeat(500_000)}\n-----END CERTIFICATE REQUEST-----\n`;
      const spec = {
        request: Buffer.from(pem).toString("base64"),
        signerName: "a.b/c",
        usages: ["digital signature"],
      };
      return JSON.stringify({ metadata: { name: "long" }, spec });
    },
  ),
  post(
    "a certificate request of many blocks",
    "/apis/certificates.k8s.io/v1/certificatesigningrequests",
    () => {
      const spec = {
        request: Buffer.from("-----BEGIN ".repeat(190_000)).toString("base64"),
        signerName: "a.b/c",
        usages: ["digital signature"],
      };
      return JSON.stringify({ metadata: { name: "blocks" }, spec });
    },
  ),
  post(
    "a certificate request of nested DER",
    "/apis/certificates.k8s.io/v1/certificatesigningrequests",
    () => {
      const der = Buffer.from("3080".repeat(400_000), "hex").toString("base64");
      const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${der}\n-----END CERTIFICATE REQUEST-----\n`;
      const spec = {
        request: Buffer.from(pem).toString("base64"),
        signerName: "a.b/c",
        usages: ["digital signature"],
      };
      return JSON.stringify({ metadata: { name: "nested" }, spec });
    },
  ),
];
