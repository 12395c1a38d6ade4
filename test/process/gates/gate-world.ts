/** API servers with the same gate files: ours, and a stock one where there is one; and who asks them. */
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import https from "node:https";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { given } from "#base/given.ts";
import { exportJWK, generateKeyPair, type GenerateKeyPairResult, type JWK, SignJWT } from "jose";
import { type RunningRole, startProgram, startRole } from "../role-harness.ts";

const here = dirname(fileURLToPath(import.meta.url));

export interface Answer {
  readonly status: number;
  // Tests read fields of many kinds; a wrong one shows as a failed assertion.
  readonly body: { readonly [field: string]: never };
  readonly text: string;
}

/** Who asks: a bearer token, or nobody. */
export async function ask(
  url: string,
  token: string | undefined,
  body?: object,
  more: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const method = body === undefined ? "GET" : "POST";
  const headers = {
    ...more,
    "content-type": "application/json",
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  const sent = https.request(url, { headers, method, agent: false, rejectUnauthorized: false });
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  let text = "";
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode ?? 0, body: parsed(text), text };
}

function parsed(text: string): Answer["body"] {
  try {
    return JSON.parse(text) as Answer["body"];
  } catch {
    return {};
  }
}

/** Of the token files that `startOurs` and `startApiServer` (stock) are started with: an administrator's. */
export const adminToken = "tok";

export interface OurServer {
  readonly role: RunningRole;
  readonly url: string;
}

export async function startOurs(directory: string, ...flags: string[]): Promise<OurServer> {
  mkdirSync(directory, { recursive: true });
  const tokens = join(directory, "tokens.csv");
  writeFileSync(tokens, `${adminToken},kubernetes-admin,1,"system:masters"\n`);
  const more = ["--secure-port=0", "--log-level=error", `--token-auth-file=${tokens}`, ...flags];
  const role = await startRole(["apiserver", `--data-dir=${join(directory, "data")}`, ...more]);
  return { role, url: /API\s+(https:\S+)/.exec(role.output())?.[1] ?? "" };
}

export interface RunningIssuer {
  readonly url: string;
  readonly ca: string;
  readonly caFile: string;
  /** What was asked of it so far. */
  asked(): readonly string[];
  publish(...keys: readonly IssuerKey[]): void;
  stop(): Promise<number>;
}

export async function startIssuer(directory: string): Promise<RunningIssuer> {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "keys.json"), '{"keys":[]}');
  const program = join(here, "issuer.ts");
  const role = await startProgram(process.execPath, [program, directory], /ready in https:\S+\n/);
  const caFile = join(directory, "ca.pem");
  return {
    url: /ready in (https:\S+)/.exec(role.output())?.[1] ?? "",
    ca: readFileSync(caFile, "utf8"),
    caFile,
    asked: () => readFileSync(join(directory, "asked.log"), "utf8").trim().split("\n"),
    publish: (...keys) =>
      writeFileSync(
        join(directory, "keys.json"),
        JSON.stringify({ keys: keys.map(({ jwk }) => jwk) }),
      ),
    stop: () => role.kill(),
  };
}

export interface IssuerKey extends GenerateKeyPairResult {
  readonly keyId: string;
  readonly algorithm: string;
  readonly jwk: JWK;
}

export async function makeKey(keyId: string, algorithm = "RS256"): Promise<IssuerKey> {
  const pair = await generateKeyPair(algorithm, { extractable: true });
  const jwk = { ...(await exportJWK(pair.publicKey)), kid: keyId, use: "sig", alg: algorithm };
  return { ...pair, keyId, algorithm, jwk };
}

export function sign(key: IssuerKey, claims: object, header: object = {}): Promise<string> {
  return new SignJWT({ ...claims })
    .setProtectedHeader({ alg: key.algorithm, kid: key.keyId, ...header })
    .sign(key.privateKey);
}

export async function reviewToken(
  url: string,
  token: string,
  audiences?: readonly string[],
): Promise<unknown> {
  const review = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenReview",
    spec: { token, ...given({ audiences }) },
  };
  const path = "/apis/authentication.k8s.io/v1/tokenreviews";
  return (await ask(url + path, adminToken, review)).body["status"];
}

export interface RunningWebhook {
  readonly kubeconfig: string;
  /** Reviews so far. */
  asked(): readonly { readonly authorization: string; readonly review: never }[];
  stop(): Promise<number>;
}

export async function startWebhook(directory: string): Promise<RunningWebhook> {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "asked.log"), "");
  const program = join(here, "webhook.ts");
  const role = await startProgram(process.execPath, [program, directory], /ready in https:\S+\n/);
  return {
    kubeconfig: join(directory, "kubeconfig"),
    asked: () =>
      readFileSync(join(directory, "asked.log"), "utf8")
        .split("\n")
        .flatMap((line) => (line === "" ? [] : [JSON.parse(line) as never])),
    stop: () => role.kill(),
  };
}

export async function reviewAccess(url: string, user: string, more: object = {}): Promise<unknown> {
  const resourceAttributes = { verb: "get", resource: "pods", namespace: "default", ...more };
  const review = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: { user, resourceAttributes },
  };
  const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
  return (await ask(url + path, adminToken, review)).body["status"];
}
