/**
 * kube-apiserver's flags of its port and its limits: TLS versions, suites and names, CORS and HSTS, GOAWAY, requests in
 * flight, timeouts and the delay of a stop.
 */
import { availableParallelism } from "node:os";
import { type Command, InvalidArgumentError } from "commander";
import { RE2JS } from "re2js";
import { canSharePort } from "#platform/node/http/http.ts";
import type { Share } from "#flowcontrol/share.ts";
import type { TlsSettings } from "#platform/node/http/tls-settings.ts";
import { cipherNames, ciphersOf } from "#platform/node/http/tls-ciphers.ts";
import { curvesOf } from "#platform/node/http/tls-curves.ts";
import type { AnswerHeaders } from "#server/answer-headers.ts";
import { boolean, durationOrZero, integer, nameList, gathered } from "./flag-values.ts";
import { readOperatorFile } from "./operator-file.ts";
import { UsageError } from "./usage-error.ts";

/** Flags of a TLS port. */
export interface TlsFlags {
  readonly tlsMinVersion?: "TLSv1.2" | "TLSv1.3";
  readonly tlsCipherSuites: readonly string[];
  readonly tlsCurvePreferences?: string;
  readonly tlsSniCertKey: readonly string[];
  readonly permitPortSharing: boolean;
}

export interface ServingFlags extends TlsFlags {
  readonly corsAllowedOrigins: readonly RE2JS[];
  readonly strictTransportSecurityDirectives: readonly string[];
  readonly goawayChance: number;
  readonly maxRequestsInflight: number;
  readonly maxMutatingRequestsInflight: number;
  /** Timeout of a request, in milliseconds. */
  readonly requestTimeout: number;
  /** Minimum time of a watch, in seconds. */
  readonly minRequestTimeout: number;
  /** Delay of the shutdown, in milliseconds. */
  readonly shutdownDelayDuration: number;
  readonly defaultNotReadyTolerationSeconds: number;
  readonly defaultUnreachableTolerationSeconds: number;
  readonly maxWatchesPerPriorityLevel: number;
  readonly maxWatchesPerUser: number;
  readonly servingWorkers: number;
}

/** The serving options of a plane, derived from these flags. */
export interface ServingOptions {
  readonly tls: TlsSettings;
  readonly sharesPort?: true;
  readonly headers: AnswerHeaders;
  readonly goawayChance: number;
  /** Number of seats of all priority levels together. */
  readonly seats: number;
  /** This thread's share of seats and watches, when several threads serve the port. Absent: all of them. */
  readonly share?: Share;
  /** Maximum number of watches of a priority level. Infinity: no limit. */
  readonly levelWatchesMax: number;
  readonly userWatchesMax: number;
  readonly requestTimeoutMs: number;
  readonly watchMsMin: number;
  /** Time for which the server reports not ready before it stops. */
  readonly shutdownDelayMs: number;
  readonly tolerationSeconds: { readonly notReady: number; readonly unreachable: number };
}

const int32Max = 2 ** 31 - 1;

export function addTlsFlags(command: Command): void {
  command
    .option(
      "--tls-min-version <version>",
      "oldest TLS spoken: VersionTLS12 or VersionTLS13 (default: VersionTLS12)",
      tlsVersion,
    )
    .option(
      "--tls-cipher-suites <names>",
      "suites of TLS 1.2 by their IANA names, comma separated; those of TLS 1.3 are always there; absent: the strong ones",
      cipherList,
      [],
    )
    .option(
      "--tls-curve-preferences <numbers>",
      "key exchange mechanisms by their IANA numbers, comma separated; absent: OpenSSL's choice",
      curveList,
    )
    .option(
      "--tls-sni-cert-key <pair>",
      "CERT,KEY or CERT,KEY:NAME,NAME: certificate shown to clients that ask for one of these names, *. for all below; without names those in the certificate; given again for more",
      gathered,
      [],
    )
    .option(
      "--permit-port-sharing [boolean]",
      "other processes may listen on the same port (SO_REUSEPORT)",
      boolean,
      false,
    );
}

/** Returns the option for `listen`. @throws UsageError where the system cannot share ports. */
export function portSharing({ permitPortSharing }: TlsFlags): { readonly sharesPort?: true } {
  if (!permitPortSharing) return {};
  if (canSharePort) return { sharesPort: true };
  throw new UsageError(`--permit-port-sharing: ${process.platform} does not spread a port`);
}

export function addServingFlags(command: Command): void {
  addTlsFlags(command);
  command
    .option(
      "--cors-allowed-origins <patterns>",
      "web pages whose scripts may read answers: regular expressions of origins, comma separated, as //example\\.com(:|$)",
      originPatterns,
      [],
    )
    .option(
      "--strict-transport-security-directives <list>",
      "tells browsers to come over TLS alone: max-age=SECONDS, includeSubDomains, preload",
      transportSecurity,
      [],
    )
    .option(
      "--goaway-chance <fraction>",
      "of HTTP/2 requests after which the client is asked to connect anew, 0 to 0.02, so that a balancer spreads it",
      goawayChance,
      0,
    )
    .option(
      "--max-requests-inflight <count>",
      "with the next one: seats of all priority levels together",
      integer("count", 0, int32Max),
      400,
    )
    .option(
      "--max-mutating-requests-inflight <count>",
      "with the last one: seats of all priority levels together",
      integer("count", 0, int32Max),
      200,
    )
    .option("--request-timeout <duration>", "of a request that is no watch", durationOrZero, 60_000)
    .option(
      "--min-request-timeout <seconds>",
      "a watch without its own ends after this long, or up to twice that",
      integer("seconds", 0, int32Max),
      1_800,
    )
    .option(
      "--shutdown-delay-duration <duration>",
      "after a stop signal /readyz fails for this long while all is served",
      durationOrZero,
      0,
    )
    .option(
      "--default-not-ready-toleration-seconds <seconds>",
      "that a pod without its own stays on a node that is not ready",
      integer("seconds", 0, int32Max),
      300,
    )
    .option(
      "--default-unreachable-toleration-seconds <seconds>",
      "that a pod without its own stays on a node that cannot be reached",
      integer("seconds", 0, int32Max),
      300,
    );
}

/** Maximum number of workers. One core is for each worker, and one for the thread that orders writes. */
const workersMax = 64;

export function addServingWorkers(command: Command): void {
  command.option(
    "--serving-workers <count>",
    "threads that serve the port, each with caches of its own, beside the one that orders writes; 1: one thread does both; auto: one for each core. See docs/capacity/cores.md",
    servingWorkers,
    1,
  );
}

/** Parses a number of workers. 0 counts as 1, because a relay without workers takes 0. */
function servingWorkers(text: string): number {
  if (text === "auto") return Math.min(availableParallelism(), workersMax);
  return Math.max(1, integer("count", 0, workersMax)(text));
}

export function addWatchLimits(command: Command): void {
  command
    .option(
      "--max-watches-per-priority-level <count>",
      "open at once at each priority level that is not exempt, unless its annotation flowcontrol.pilothouse.dev/watches-max says another number; 0: any number",
      integer("count", 0, int32Max),
      0,
    )
    .option(
      "--max-watches-per-user <count>",
      "open at once, but for those at exempt priority levels; 0: any number",
      integer("count", 0, int32Max),
      0,
    );
}

function orAny(count: number): number {
  return count === 0 ? Number.POSITIVE_INFINITY : count;
}

/** @throws UsageError for unusable files and for zero seats. */
export function servingOptions(flags: ServingFlags): ServingOptions {
  const seats = flags.maxRequestsInflight + flags.maxMutatingRequestsInflight;
  if (seats === 0)
    throw new UsageError(
      "--max-requests-inflight and --max-mutating-requests-inflight leave no request a seat",
    );
  return {
    tls: tlsSettings(flags),
    ...portSharing(flags),
    headers: answerHeaders(flags),
    goawayChance: flags.goawayChance,
    seats,
    levelWatchesMax: orAny(flags.maxWatchesPerPriorityLevel),
    userWatchesMax: orAny(flags.maxWatchesPerUser),
    requestTimeoutMs: flags.requestTimeout,
    watchMsMin: flags.minRequestTimeout * 1_000,
    shutdownDelayMs: flags.shutdownDelayDuration,
    tolerationSeconds: {
      notReady: flags.defaultNotReadyTolerationSeconds,
      unreachable: flags.defaultUnreachableTolerationSeconds,
    },
  };
}

/** @throws UsageError for a pair that cannot be read. */
export function tlsSettings(flags: TlsFlags): TlsSettings {
  const ciphers = ciphersOf(flags.tlsCipherSuites);
  return {
    ...(flags.tlsMinVersion !== undefined && { minVersion: flags.tlsMinVersion }),
    ...(ciphers !== undefined && { ciphers }),
    ...(flags.tlsCurvePreferences !== undefined && { curves: flags.tlsCurvePreferences }),
    named: flags.tlsSniCertKey.map(namedPair),
  };
}

/** Parses `CERT,KEY:NAME,NAME`. */
function namedPair(text: string): NonNullable<TlsSettings["named"]>[number] {
  const [, cert = "", key = "", names = ""] = /^([^,]+),([^,:]+)(?::(.*))?$/.exec(text) ?? [];
  if (cert === "") throw new UsageError(`--tls-sni-cert-key ${text}: expected CERT,KEY:NAMES`);
  return { cert: readOperatorFile(cert), key: readOperatorFile(key), names: nameList(names) };
}

function answerHeaders(flags: ServingFlags): AnswerHeaders {
  const { corsAllowedOrigins: patterns, strictTransportSecurityDirectives: directives } = flags;
  return {
    ...(patterns.length > 0 && {
      allowsOrigin: (origin: string) => patterns.some((pattern) => pattern.matcher(origin).find()),
    }),
    ...(directives.length > 0 && { transportSecurity: directives.join("; ") }),
  };
}

function tlsVersion(text: string): string {
  if (text === "VersionTLS12") return "TLSv1.2";
  if (text === "VersionTLS13") return "TLSv1.3";
  throw new InvalidArgumentError("VersionTLS12 or VersionTLS13; older ones are not spoken.");
}

/** Parses a list of IANA's cipher names. @throws InvalidArgumentError for an unsupported one. */
export function cipherList(text: string): readonly string[] {
  const names = nameList(text);
  const unknown = names.find((name) => !cipherNames.has(name));
  if (unknown === undefined) return names;
  throw new InvalidArgumentError(
    `Cipher suite ${unknown} not supported or doesn't exist; there are ${[...cipherNames.keys()].join(", ")}.`,
  );
}

function curveList(text: string): string {
  try {
    return curvesOf(nameList(text).map(Number));
  } catch (error) {
    throw new InvalidArgumentError(`${(error as Error).message}.`);
  }
}

/** As upstream, a pattern must be anchored at both ends of the host: CVE-2022-1996. */
function originPatterns(text: string, before: readonly RE2JS[] = []): readonly RE2JS[] {
  return [...before, ...text.split(",").map(originPattern)];
}

function originPattern(text: string): RE2JS {
  if (text === "") throw new InvalidArgumentError("a pattern is empty.");
  const isTied = (text.includes("^") || text.includes("//")) && /[$:]/.test(text);
  if (!isTied)
    throw new InvalidArgumentError(
      "regular expression does not pin to start/end of host in the origin header.",
    );
  try {
    return RE2JS.compile(text);
  } catch (error) {
    throw new InvalidArgumentError(`${text}: ${(error as Error).message}.`);
  }
}

function transportSecurity(text: string): readonly string[] {
  const directives = text.split(",");
  if (directives.every((one) => /^(max-age=[^=]*|includeSubDomains|preload)$/.test(one)))
    return directives;
  throw new InvalidArgumentError("allowed values: max-age=SECONDS, includeSubDomains, preload.");
}

function goawayChance(text: string): number {
  const chance = Number(text);
  if (text.trim() !== "" && chance >= 0 && chance <= 0.02) return chance;
  throw new InvalidArgumentError("can not be less than 0 or greater than 0.02.");
}
