/**
 * etcd's `--config-file`: its entries as the flags that they stand for. As with etcd, flags and environment variables
 * beside the file do not count. An entry that is no flag is refused by its name.
 *
 * Source: server/embed/config.go of etcd 3.6 (Config, configJSON, securityConfig): names of flags, two sections of TLS,
 *         one of sockets; durations are nanoseconds.
 */
import { parseYaml } from "#wire/yaml.ts";
import { readOperatorFile } from "../shared/operator-file.ts";
import { etcdFlags } from "../shared/stock-flags/etcd.ts";
import { UsageError } from "../shared/usage-error.ts";

const limits = { bytesMax: 1024 * 1024, depthMax: 8, aliasMax: 100 };

interface Section {
  readonly prefix: string;
  /** By entry: its flag, where that is not `prefix + entry`. */
  readonly names: ReadonlyMap<string, string>;
}

const sections: ReadonlyMap<string, Section> = new Map([
  [
    "client-transport-security",
    {
      prefix: "",
      names: new Map([
        ["allowed-cn", "allow-cn"],
        ["allowed-hostname", "client-cert-allowed-hostname"],
      ]),
    },
  ],
  [
    "peer-transport-security",
    {
      prefix: "peer-",
      names: new Map([
        ["allowed-cn", "peer-cert-allowed-cn"],
        ["allowed-hostname", "peer-cert-allowed-hostname"],
      ]),
    },
  ],
  ["socket-options", { prefix: "socket-", names: new Map<string, string>() }],
]);

/** By entry: its flag, where the flag has another name. */
const renamed = new Map([
  ["experimental-snapshot-catch-up-entries", "experimental-snapshot-catchup-entries"],
]);

const durations = new Set([
  ...etcdFlags.filter(({ kind }) => kind === "duration").map(({ name }) => name),
  "watch-progress-notify-interval",
  "experimental-watch-progress-notify-interval",
]);

/** Returns the file's entries as command-line arguments. @throws UsageError */
export function configFileArguments(path: string): readonly string[] {
  const parsed = parseYaml(readOperatorFile(path), limits);
  if (parsed.kind !== "ok") throw new UsageError(`--config-file ${path}: ${parsed.message}`);
  if (!isMapping(parsed.value)) throw new UsageError(`--config-file ${path}: it is no mapping`);
  return Object.entries(parsed.value).flatMap(([name, value]) => {
    const section = sections.get(name);
    if (section === undefined) return flagOf(path, renamed.get(name) ?? name, value);
    if (!isMapping(value)) throw new UsageError(`--config-file ${path}: ${name} is no mapping`);
    return Object.entries(value).flatMap(([entry, inner]) =>
      flagOf(path, section.names.get(entry) ?? `${section.prefix}${entry}`, inner),
    );
  });
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the argument of an entry. An empty value counts as absent. */
function flagOf(path: string, name: string, value: unknown): readonly string[] {
  if (!/^[a-z][a-z0-9-]*$/.test(name) || name === "config-file")
    throw new UsageError(`--config-file ${path}: ${JSON.stringify(name)} is no entry`);
  if (value === null || value === "" || (Array.isArray(value) && value.length === 0)) return [];
  if (Array.isArray(value)) return [`--${name}=${value.map(String).join(",")}`];
  if (typeof value === "string" || typeof value === "boolean") return [`--${name}=${value}`];
  if (typeof value === "number") return [`--${name}=${value}${durations.has(name) ? "ns" : ""}`];
  throw new UsageError(`--config-file ${path}: ${name} is a mapping, and must be a value`);
}
