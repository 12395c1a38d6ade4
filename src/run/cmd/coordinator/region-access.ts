/**
 * The kubeconfig of a region as its Secret holds it, and how it is made.
 *
 * Trust  a Secret is written by others than the operator of this process: only credentials that stand in it are taken. An exec
 *        plugin would run here, and a path would read files of this machine: both are refused, as is a server without TLS.
 */
import { parse } from "yaml";
import { given } from "#base/given.ts";
import { isRecord } from "#base/is-record.ts";
import type { KubeAccess } from "#platform/node/kubeconfig.ts";
import type { RegionAddress } from "#regions/join/join.ts";

const kubeconfigBytesMax = 64 * 1024;

/** Parses a region's kubeconfig. Throws Error with a text for the ClusterProfile. */
export function regionAccess(base64: string): KubeAccess {
  const bytes = Buffer.from(base64.slice(0, 2 * kubeconfigBytesMax), "base64");
  if (bytes.length > kubeconfigBytesMax) throw new Error("the kubeconfig is longer than 64 KiB");
  const root = fields(parse(bytes.toString("utf8")));
  const context = named(root, "contexts", root["current-context"], "context");
  const cluster = named(root, "clusters", context["cluster"], "cluster");
  const user = named(root, "users", context["user"], "user");
  refusePaths(cluster, ["certificate-authority", "proxy-url", "insecure-skip-tls-verify"]);
  refusePaths(user, [
    "exec",
    "auth-provider",
    "tokenFile",
    "client-certificate",
    "client-key",
    "as",
  ]);
  const server = text(cluster["server"]) ?? "";
  refuseServer(server);
  const token = text(user["token"]);
  return {
    server,
    ...given({
      ca: pem(cluster["certificate-authority-data"]),
      serverName: text(cluster["tls-server-name"]),
      certificate: pem(user["client-certificate-data"]),
      key: pem(user["client-key-data"]),
      bearerToken: token === undefined ? undefined : () => token,
    }),
    namespace: "default",
  };
}

function refusePaths(owner: Fields, names: readonly string[]): void {
  const found = names.find((name) => owner[name] !== undefined);
  if (found !== undefined) {
    throw new Error(`the kubeconfig of a region has its credentials in it: ${found} is not taken`);
  }
}

function refuseServer(server: string): void {
  const url = URL.parse(server);
  const isLoopback = url !== null && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname);
  if (url === null || (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopback))) {
    throw new Error(`the kubeconfig's server ${server.slice(0, 200)} is no https:// address`);
  }
}

/**
 * Returns the base64 of a self-contained kubeconfig, written as JSON, which is valid YAML. `tokenBase64`: the token
 * as its Secret has it.
 */
export function regionKubeconfig(
  { server, ca, serverName }: RegionAddress,
  tokenBase64: string,
): string {
  const token = Buffer.from(tokenBase64, "base64").toString("utf8");
  const cluster = {
    server,
    ...given({
      "certificate-authority-data":
        ca === undefined ? undefined : Buffer.from(ca).toString("base64"),
      "tls-server-name": serverName,
    }),
  };
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "region", cluster }],
    users: [{ name: "coordinator", user: { token } }],
    contexts: [{ name: "region", context: { cluster: "region", user: "coordinator" } }],
    "current-context": "region",
  };
  return Buffer.from(JSON.stringify(config)).toString("base64");
}

type Fields = Readonly<Record<string, unknown>>;

function fields(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function pem(value: unknown): string | undefined {
  const base64 = text(value);
  return base64 === undefined ? undefined : Buffer.from(base64, "base64").toString("utf8");
}

function named(root: Fields, list: string, name: unknown, field: string): Fields {
  const entries = Array.isArray(root[list]) ? root[list] : [];
  const found = entries.map(fields).find((entry) => entry["name"] === name);
  if (found === undefined) throw new Error(`the kubeconfig names no ${field} that it has`);
  return fields(found[field]);
}
