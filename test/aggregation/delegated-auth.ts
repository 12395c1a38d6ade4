/**
 * Delegated authentication and authorization, as extension API servers do it: a front proxy that shows a
 * certificate of the right authority and name says who a client is; a bearer token is asked about with a
 * TokenReview; whether the user may is asked with a SubjectAccessReview.
 */
import type { IncomingMessage } from "node:http";
import https from "node:https";
import type { TLSSocket } from "node:tls";
import { given } from "#base/given.ts";
import { Refusal } from "./flunders.ts";

/** How the sample server reaches the cluster's own. */
export interface ClusterAccess {
  readonly url: string;
  readonly ca: string;
  readonly token: string;
}

export interface User {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** ConfigMap kube-system/extension-apiserver-authentication. */
export interface FrontProxyTrust {
  readonly clientCa: string;
  readonly allowedNames: readonly string[];
  readonly userHeaders: readonly string[];
  readonly uidHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  readonly extraPrefixes: readonly string[];
}

export async function readTrust(cluster: ClusterAccess): Promise<FrontProxyTrust> {
  const path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
  const { data } = (await ask(cluster, "GET", path)) as { data: Record<string, string> };
  const list = (key: string): readonly string[] => JSON.parse(data[key] ?? "[]") as string[];
  return {
    clientCa: data["requestheader-client-ca-file"] ?? "",
    allowedNames: list("requestheader-allowed-names"),
    userHeaders: list("requestheader-username-headers"),
    uidHeaders: list("requestheader-uid-headers"),
    groupHeaders: list("requestheader-group-headers"),
    extraPrefixes: list("requestheader-extra-headers-prefix"),
  };
}

export async function authenticate(
  cluster: ClusterAccess,
  trust: FrontProxyTrust,
  request: IncomingMessage,
): Promise<User> {
  const socket = request.socket as TLSSocket; // of an https server
  const name = socket.authorized ? socket.getPeerCertificate().subject.CN : undefined;
  const isProxy = typeof name === "string" && trust.allowedNames.includes(name);
  if (isProxy) return userOfHeaders(trust, request);
  const token = /^Bearer (\S+)$/.exec(request.headers.authorization ?? "")?.[1];
  if (token === undefined) throw new Refusal(401, "Unauthorized", "Unauthorized");
  const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token } };
  const path = "/apis/authentication.k8s.io/v1/tokenreviews";
  const { status } = (await ask(cluster, "POST", path, review)) as {
    status: { authenticated?: boolean; user?: User };
  };
  if (status.authenticated !== true || status.user === undefined)
    throw new Refusal(401, "Unauthorized", "Unauthorized");
  return { ...status.user, extra: status.user.extra ?? {} };
}

function userOfHeaders(trust: FrontProxyTrust, request: IncomingMessage): User {
  const lines = request.headersDistinct;
  const all = (names: readonly string[]): readonly string[] =>
    names.flatMap((name) => lines[name.toLowerCase()] ?? []);
  const [username] = all(trust.userHeaders);
  if (username === undefined) throw new Refusal(401, "Unauthorized", "Unauthorized");
  const extra: Record<string, readonly string[]> = {};
  for (const [name, values = []] of Object.entries(lines)) {
    const prefix = trust.extraPrefixes.find((one) => name.startsWith(one.toLowerCase()));
    if (prefix !== undefined) extra[decodeURIComponent(name.slice(prefix.length))] = values;
  }
  const [uid] = all(trust.uidHeaders);
  // As every authenticator but that of anonymous does.
  const groups = [...new Set([...all(trust.groupHeaders), "system:authenticated"])];
  return { username: utf8(username), ...given({ uid }), groups, extra };
}

function utf8(latin1: string): string {
  return Buffer.from(latin1, "latin1").toString("utf8");
}

export interface Wish {
  readonly verb: string;
  readonly path: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

/** @throws Refusal 403. */
export async function authorize(cluster: ClusterAccess, user: User, wish: Wish): Promise<void> {
  if (user.groups.includes("system:masters")) return;
  const { verb, path, resource, subresource, namespace, name } = wish;
  const about = { group: "wardle.example.com", version: "v1alpha1", resource, subresource };
  const attributes =
    resource === ""
      ? { nonResourceAttributes: { verb, path } }
      : { resourceAttributes: { ...about, verb, namespace, name } };
  const { username, uid = "", groups, extra } = user;
  const spec = { user: username, uid, groups, extra, ...attributes };
  const review = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec };
  const at = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
  const { status } = (await ask(cluster, "POST", at, review)) as { status: { allowed: boolean } };
  if (status.allowed) return;
  const what =
    resource === "" ? `path ${JSON.stringify(path)}` : `resource ${JSON.stringify(resource)}`;
  const text = `User ${JSON.stringify(username)} cannot ${verb} ${what} behind the proxy`;
  throw new Refusal(403, "Forbidden", text);
}

function ask(
  { url, ca, token }: ClusterAccess,
  method: string,
  path: string,
  body?: object,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const options = { method, headers, ca, servername: "kubernetes" };
    const call = https.request(url + path, options, (response) => {
      let got = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (got += chunk));
      response.on("end", () => {
        if ((response.statusCode ?? 0) < 300) resolve(JSON.parse(got));
        else reject(new Error(`${method} ${path}: ${response.statusCode} ${got}`));
      });
    });
    call.on("error", reject);
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
