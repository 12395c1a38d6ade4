/**
 * Kubeconfig files, as kubectl reads them: server, trusted authorities, and credentials.
 *
 * Read: current or named context, inline data or files (relative to the kubeconfig), tokens, token
 * files, exec plugins (no shell, no terminal; a token near its end is fetched again in the background).
 * Not read, with a clear error: auth-provider (removed upstream in 1.26), username and password, proxy-url,
 * impersonation (`as`), because ignoring it would act with more rights than its user asked for.
 */
import { execFile } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { parse } from "yaml";
import { isRecord } from "#base/is-record.ts";

export interface KubeAccess {
  readonly server: string;
  readonly ca?: string;
  readonly certificate?: string;
  readonly key?: string;
  readonly serverName?: string;
  readonly insecure?: boolean;
  readonly bearerToken?: () => string;
  /** The context's namespace, "default" when it names none. */
  readonly namespace: string;
}

export class KubeconfigError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "KubeconfigError";
  }
}

type Fields = Readonly<Record<string, unknown>>;

const serviceAccountDirectory = "/var/run/secrets/kubernetes.io/serviceaccount";
/** A token file is read again after this time: upstream's interval for projected tokens. */
const tokenFileMs = 60_000;
const kubeconfigBytesMax = 10 * 1024 * 1024;

/** Returns the first of the files that kubectl would read: those in `KUBECONFIG`, else `~/.kube/config`. */
export function defaultKubeconfigPath(env: Readonly<Record<string, string | undefined>>): string {
  const listed = env["KUBECONFIG"]?.split(delimiter).find((path) => path !== "");
  return listed ?? join(homedir(), ".kube", "config");
}

/** `context` absent: the file's current-context. */
export async function loadKubeconfig(path: string, context?: string): Promise<KubeAccess> {
  const directory = dirname(resolve(path));
  const root = fields(parse(readText(path)));
  const name = context ?? text(root["current-context"]);
  if (name === undefined || name === "") {
    throw new KubeconfigError(`kubeconfig ${path} names no current-context`);
  }
  const chosen = findNamed(root, "contexts", name, "context", path);
  const clusterName = text(chosen["cluster"]) ?? "";
  const cluster = findNamed(root, "clusters", clusterName, "cluster", path);
  const userName = text(chosen["user"]) ?? "";
  const user = userName === "" ? {} : findNamed(root, "users", userName, "user", path);
  if (text(cluster["proxy-url"]) !== undefined) {
    throw new KubeconfigError(`cluster "${clusterName}": proxy-url is not supported`);
  }
  const server = text(cluster["server"]);
  if (server === undefined) throw new KubeconfigError(`cluster "${clusterName}" has no server`);
  const serverName = text(cluster["tls-server-name"]);
  return {
    server,
    ...optional("ca", pem(cluster, "certificate-authority", directory)),
    ...optional("serverName", serverName),
    ...(cluster["insecure-skip-tls-verify"] === true ? { insecure: true } : {}),
    ...(await credentials(user, userName, cluster, directory)),
    namespace: text(chosen["namespace"]) ?? "default",
  };
}

/** Returns a Pod's own access, from the files in `directory`; undefined outside of a cluster. */
export function inClusterAccess(
  env: Readonly<Record<string, string | undefined>>,
  directory = serviceAccountDirectory,
): KubeAccess | undefined {
  const host = env["KUBERNETES_SERVICE_HOST"];
  const port = env["KUBERNETES_SERVICE_PORT"] ?? "443";
  if (host === undefined || host === "") return undefined;
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    ca: readText(join(directory, "ca.crt")),
    bearerToken: tokenFile(join(directory, "token")),
    namespace: readText(join(directory, "namespace")).trim(),
  };
}

type Credentials = Pick<KubeAccess, "certificate" | "key" | "bearerToken">;

async function credentials(
  user: Fields,
  name: string,
  cluster: Fields,
  directory: string,
): Promise<Credentials> {
  if (user["auth-provider"] !== undefined) {
    throw new KubeconfigError(`user "${name}": auth-provider was removed, use an exec plugin`);
  }
  if (user["username"] !== undefined) {
    throw new KubeconfigError(
      `user "${name}": no API server takes a username and password any more`,
    );
  }
  const acting = Object.keys(user).find((field) => /^as(-|$)/.test(field));
  if (acting !== undefined) {
    throw new KubeconfigError(`user "${name}": impersonation (${acting}) is not supported`);
  }
  const certificate = pem(user, "client-certificate", directory);
  const key = pem(user, "client-key", directory);
  if ((certificate === undefined) !== (key === undefined)) {
    throw new KubeconfigError(`user "${name}" needs both client-certificate and client-key`);
  }
  const file = text(user["tokenFile"]);
  const token = text(user["token"]);
  const plugin = user["exec"];
  if (plugin !== undefined) {
    return execCredentials({ plugin: fields(plugin), name, cluster, directory });
  }
  return {
    ...optional("certificate", certificate),
    ...optional("key", key),
    ...(file !== undefined
      ? { bearerToken: tokenFile(resolve(directory, file)) }
      : optional("bearerToken", token === undefined ? undefined : () => token)),
  };
}

/** Returns a reader of the file, which reads it again each minute: tokens of Pods are replaced in place. */
export function tokenFile(path: string): () => string {
  let token = "";
  let readMs = Number.NEGATIVE_INFINITY;
  return () => {
    if (Date.now() - readMs >= tokenFileMs) {
      token = readText(path).trim();
      readMs = Date.now();
    }
    return token;
  };
}

interface ExecResult {
  readonly token: string | undefined;
  readonly certificate: string | undefined;
  readonly key: string | undefined;
  readonly expiresMs: number;
}

/** A credential plugin, as a user of the kubeconfig names it. */
interface Exec {
  readonly plugin: Fields;
  readonly name: string;
  readonly cluster: Fields;
  readonly directory: string;
}

async function execCredentials(exec: Exec) {
  let result = await execPlugin(exec);
  let fetching = false;
  const refresh = (): void => {
    if (fetching || Date.now() < result.expiresMs - 60_000) return;
    fetching = true;
    execPlugin(exec).then(
      (next) => {
        result = next;
        fetching = false;
      },
      () => {
        fetching = false; // the old token answers until the server refuses it
      },
    );
  };
  const bearerToken = (): string => {
    refresh();
    return result.token ?? "";
  };
  return {
    ...optional("certificate", result.certificate),
    ...optional("key", result.key),
    ...(result.token === undefined ? {} : { bearerToken }),
  };
}

const execVersions = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];

async function execPlugin({ plugin, name, cluster, directory }: Exec): Promise<ExecResult> {
  const given = text(plugin["command"]) ?? "";
  const command = given.includes("/") ? resolve(directory, given) : given;
  const args = list(plugin["args"]).map(String);
  const apiVersion = execVersion(plugin, name);
  const known =
    plugin["provideClusterInfo"] === true ? { cluster: clusterInfo(cluster, directory) } : {};
  const info = { kind: "ExecCredential", apiVersion, spec: { ...known, interactive: false } };
  const env = { ...process.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) };
  for (const variable of list(plugin["env"]).map(fields)) {
    Object.assign(env, { [String(variable["name"])]: String(variable["value"]) });
  }
  try {
    const options = { env, timeout: 60_000, maxBuffer: 1024 * 1024 };
    const running = promisify(execFile)(command, args, options);
    running.child.stdin?.end(); // a plugin that asks for input gets none, instead of a minute's wait
    return execResult(fields(JSON.parse((await running).stdout)), apiVersion);
  } catch (error) {
    const why = error instanceof KubeconfigError ? `: ${error.message}` : "";
    throw new KubeconfigError(`user "${name}": exec plugin ${given} failed${why}`, {
      cause: error,
    });
  }
}

/** Returns the API version that plugin and client share; throws when there is none. */
function execVersion(plugin: Fields, name: string): string {
  const apiVersion = text(plugin["apiVersion"]) ?? "";
  if (!execVersions.includes(apiVersion)) {
    throw new KubeconfigError(`user "${name}": exec apiVersion "${apiVersion}" is not supported`);
  }
  if (plugin["interactiveMode"] === "Always") {
    throw new KubeconfigError(`user "${name}": exec plugin needs a terminal, and here is none`);
  }
  return apiVersion;
}

function execResult(answer: Fields, apiVersion: string): ExecResult {
  if (answer["apiVersion"] !== apiVersion) {
    throw new KubeconfigError(
      `it answered apiVersion "${text(answer["apiVersion"])}", not ${apiVersion}`,
    );
  }
  const status = fields(answer["status"]);
  const token = text(status["token"]);
  const certificate = text(status["clientCertificateData"]);
  const key = text(status["clientKeyData"]);
  if (token === undefined && certificate === undefined) {
    throw new KubeconfigError("it answered neither a token nor a certificate");
  }
  if ((certificate === undefined) !== (key === undefined)) {
    throw new KubeconfigError("it answered only one of certificate and key");
  }
  const expires = text(status["expirationTimestamp"]);
  const expiresMs = expires === undefined ? Number.POSITIVE_INFINITY : Date.parse(expires);
  return { token, certificate, key, expiresMs };
}

/** Makes `spec.cluster` of an ExecCredential. */
function clusterInfo(cluster: Fields, directory: string): Fields {
  const ca = pem(cluster, "certificate-authority", directory);
  const extension = list(cluster["extensions"])
    .map(fields)
    .find((each) => each["name"] === "client.authentication.k8s.io/exec");
  return {
    server: cluster["server"],
    ...optional("tls-server-name", text(cluster["tls-server-name"])),
    ...(cluster["insecure-skip-tls-verify"] === true ? { "insecure-skip-tls-verify": true } : {}),
    ...optional("certificate-authority-data", ca && Buffer.from(ca).toString("base64")),
    ...(extension === undefined ? {} : { config: extension["extension"] }),
  };
}

function pem(owner: Fields, field: string, directory: string): string | undefined {
  const data = text(owner[`${field}-data`]);
  if (data !== undefined && data !== "") return Buffer.from(data, "base64").toString("utf8");
  const path = text(owner[field]);
  return path === undefined || path === "" ? undefined : readText(resolve(directory, path));
}

function findNamed(root: Fields, lists: string, name: string, field: string, path: string): Fields {
  const entry = list(root[lists])
    .map(fields)
    .find((candidate) => candidate["name"] === name);
  if (entry === undefined) {
    throw new KubeconfigError(`kubeconfig ${path} has no ${field} "${name}" in ${lists}`);
  }
  return fields(entry[field]);
}

function readText(path: string): string {
  try {
    const { size } = statSync(path);
    if (size > kubeconfigBytesMax) throw new RangeError(`larger than ${kubeconfigBytesMax} bytes`);
    return readFileSync(path, "utf8");
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new KubeconfigError(`cannot read ${path}: ${why}`, { cause: error });
  }
}

/** Decodes untyped YAML: a value that is no mapping counts as an empty one. */
function fields(value: unknown): Fields {
  return isRecord(value) ? (value as Fields) : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function optional<K extends string, V>(name: K, value: V | undefined): { readonly [P in K]?: V } {
  return (value === undefined ? {} : { [name]: value }) as { readonly [P in K]?: V };
}
