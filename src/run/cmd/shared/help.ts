/** The format of --help: the default of a flag, and the group in which the flag is listed. */
import type { Command, Option } from "commander";
import { duration, durationOrZero, durationText, goDuration } from "./flag-values.ts";

/** Sets the format. Call this before commands are added, because they copy it from `program`. */
export function showDefaultsPlainly(program: Command): void {
  program.configureHelp({ optionDescription: describe });
}

function describe(option: Option): string {
  const facts = [choicesOf(option), defaultOf(option)].filter((text) => text !== "");
  const text = facts.length === 0 ? "" : ` (${facts.join(", ")})`;
  return `${option.description}${text}`;
}

function choicesOf({ argChoices = [] }: Option): string {
  return argChoices.length === 0 ? "" : `choices: ${argChoices.join(", ")}`;
}

/** Returns the default as text, or "" for a switch that is off, a list without entries and the like. */
function defaultOf(option: Option): string {
  const { defaultValue: value, defaultValueDescription: words } = option;
  const takesValue = option.required || option.optional;
  if (words !== undefined) return `default: ${words}`;
  if (!takesValue || isEmpty(value)) return "";
  const isDuration = durations.has(option.parseArg);
  return `default: ${isDuration ? durationText(Number(value)) : valueText(option, value)}`;
}

const durations: ReadonlySet<unknown> = new Set([duration, durationOrZero, goDuration]);

function isEmpty(value: unknown): boolean {
  if (value instanceof Map) return value.size === 0;
  return value === undefined || value === "" || (Array.isArray(value) && value.length === 0);
}

function valueText({ long }: Option, value: unknown): string {
  if (typeof value !== "number") return Array.isArray(value) ? value.join(",") : String(value);
  return long?.endsWith("port") === true ? String(value) : numberText(value);
}

const mebibyte = 2 ** 20;

function numberText(value: number): string {
  if (value >= mebibyte && value % mebibyte === 0)
    return value % 2 ** 30 === 0 ? `${value / 2 ** 30} GiB` : `${value / mebibyte} MiB`;
  return value.toLocaleString("en-US");
}

/** The first matching prefix selects the group. Other flags get commander's own heading. */
const groups: readonly (readonly [heading: string, beginnings: readonly string[]])[] = [
  [
    "Storage:",
    [
      "data-dir",
      "etcd",
      "quota",
      "compact",
      "accept-etcd",
      "encryption",
      "event-ttl",
      "auto-compaction",
      "memory",
      "engine",
      "checkpoints",
      "max-txn",
      "max-request-bytes",
      "listen-client",
      "listen-metrics",
    ],
  ],
  ["Audit:", ["audit"]],
  [
    "Users and rights:",
    [
      "oidc",
      "authentication",
      "anonymous",
      "authorization",
      "token-auth",
      "service-account",
      "requestheader",
      "client-ca",
      "enable-bootstrap-token",
      "api-audiences",
      "client-cert-auth",
      "trusted-ca",
      "allow-cn",
    ],
  ],
  [
    "Serving:",
    [
      "host",
      "port",
      "bind-address",
      "secure-port",
      "tls",
      "cert",
      "key",
      "advertise",
      "cors",
      "strict-transport",
      "goaway",
      "max-requests",
      "max-mutating",
      "request-timeout",
      "min-request-timeout",
      "shutdown",
      "listen",
      "insecure-transport",
    ],
  ],
  [
    "Admission and the API:",
    [
      "enable-admission",
      "disable-admission",
      "admission",
      "runtime-config",
      "feature-gates",
      "default-",
      "allow-privileged",
      "service-cluster",
      "service-node-port",
    ],
  ],
  [
    "Nodes and aggregated servers:",
    [
      "kubelet",
      "proxy-client",
      "enable-aggregator",
      "node",
      "secondary-node",
      "unhealthy-zone",
      "large-cluster",
      "image-pull",
    ],
  ],
  ["Certificates that are signed:", ["cluster-signing", "root-ca"]],
  ["Relay:", ["relay", "xds"]],
  ["The API server and the lease:", ["kubeconfig", "kube-api", "leader-elect"]],
];

/** Groups the flags of commands with more flags than fit a screen. Call this after flags are added. */
export function groupFlags(program: Command): void {
  for (const command of program.commands) {
    groupFlags(command);
    if (command.options.length <= 15) continue;
    for (const option of command.options) option.helpGroup(groupOf(option));
  }
}

function groupOf({ long = "" }: Option): string {
  const name = long.slice(2);
  const found = groups.find(([, beginnings]) =>
    beginnings.some((beginning) => name.startsWith(beginning)),
  );
  return found?.[0] ?? "Options:";
}
