/**
 * `--egress-selector-config-file`: taken where every selection is Direct, which is what this server does. A proxy
 * (Konnectivity) is refused by name: connections would go elsewhere than the file says.
 *
 * Source: apiserver.k8s.io EgressSelectorConfiguration v1beta1 and v1alpha1; the rules and words are upstream's.
 */
import { parseYaml } from "#wire/yaml.ts";
import { readOperatorFile } from "../shared/operator-file.ts";
import { UsageError } from "../shared/usage-error.ts";

const limits = { bytesMax: 1024 * 1024, depthMax: 32, aliasMax: 100 };
const versions = ["apiserver.k8s.io/v1beta1", "apiserver.k8s.io/v1alpha1"];
const names = ["cluster", "controlplane", "etcd"];
const protocols = ["Direct", "HTTPConnect", "GRPC"];

/** @throws UsageError */
export function egressSelector(path: string): string {
  const parsed = parseYaml(readOperatorFile(path), limits);
  const fault = parsed.kind === "ok" ? faultOf(parsed.value) : parsed.message;
  if (fault === "") return path;
  throw new UsageError(`--egress-selector-config-file ${path}: ${fault}`);
}

interface Configuration {
  readonly apiVersion?: unknown;
  readonly kind?: unknown;
  readonly egressSelections?: unknown;
}

function faultOf(value: unknown): string {
  const { apiVersion, kind, egressSelections = [] } = Object(value) as Configuration;
  if (kind !== "EgressSelectorConfiguration" || !versions.includes(String(apiVersion)))
    return `not an EgressSelectorConfiguration of ${versions.join(" or ")}`;
  if (!Array.isArray(egressSelections)) return "egressSelections must be a list";
  const given = egressSelections.map((one: unknown) => Object(one) as Selection);
  return given.map(selectionFault).find((fault) => fault !== "") ?? repeatedFault(given);
}

interface Selection {
  readonly name?: unknown;
  readonly connection?: { readonly proxyProtocol?: unknown; readonly transport?: unknown };
}

function selectionFault({ name, connection = {} }: Selection): string {
  const { proxyProtocol: protocol, transport } = connection;
  if (!names.includes(canonical(name)))
    return `egressSelections: ${JSON.stringify(name)} is none of ${names.join(", ")}`;
  if (protocol === "Direct") {
    return transport === undefined ? "" : "transport: config must be absent for direct connect";
  }
  if (!protocols.includes(String(protocol)))
    return `proxyProtocol: ${JSON.stringify(protocol)} is none of ${protocols.join(", ")}`;
  return `proxyProtocol ${String(protocol)} of ${String(name)} is not here: this server opens its connections itself; make it Direct, and give this host a route to nodes and webhooks`;
}

function repeatedFault(given: readonly Selection[]): string {
  const all = given.map(({ name }) => canonical(name));
  const repeated = all.find((one, at) => all.indexOf(one) !== at);
  return repeated === undefined ? "" : `egressSelections: ${repeated} is there twice`;
}

function canonical(name: unknown): string {
  return String(name).toLowerCase();
}
