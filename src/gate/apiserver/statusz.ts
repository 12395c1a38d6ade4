/**
 * `/statusz`: what a person asks first of a component, as text, or as an object of config.k8s.io for programs.
 *
 * After  k8s.io/apiserver/pkg/server/statusz, 1.36. Any method, as there. Its text names the fields with a separator
 *        by chance, so that nobody parses it; ours is the colon.
 */
import { failure } from "#api/status.ts";
import { clauseMatches, type MediaType, negotiateError, parseAccept } from "#forms/negotiate.ts";
import type { Clock } from "#platform/clock.ts";
import type { PlainResponse } from "#platform/http.ts";
import type { RequestContext } from "#server/context.ts";
import { bodyOf } from "#forms/body.ts";
import { bytesResponse } from "#server/respond.ts";
import type { VersionInfo } from "#server/version.ts";
import type { Documents } from "./non-resource.ts";

interface StatuszDeps {
  readonly clock: Clock;
  readonly version: VersionInfo;
}

const path = "/statusz";
const component = "apiserver";
const structured: readonly MediaType[] = ["application/json", "application/yaml"];
const plain = "text/plain";
const versions: ReadonlySet<string | undefined> = new Set(["v1beta1", "v1alpha1"]);
const deprecated =
  '299 - "This version of the statusz endpoint is deprecated. Please use a newer version."';
/** Of the endpoints for people and probes, those that are here. */
const listed = ["/healthz", "/livez", "/metrics", "/readyz", "/statusz", "/version"];

type Form =
  | { readonly kind: "text" }
  | { readonly kind: "object"; readonly mediaType: MediaType; readonly version: string };

export class Statusz implements Documents {
  readonly #deps: StatuszDeps;
  readonly #startMs: number;

  /** To be made at the start of the component. */
  constructor(deps: StatuszDeps) {
    this.#deps = deps;
    this.#startMs = deps.clock.nowMs();
  }

  paths(): readonly string[] {
    return [path];
  }

  serve(context: RequestContext): PlainResponse | undefined {
    const { request, query } = context;
    if (request.path !== path) return undefined;
    const form = formOf(request.headers["accept"] ?? "");
    if (form.kind === "text") {
      const text = new TextEncoder().encode(this.#text());
      return bytesResponse(200, [text], "text/plain; charset=utf-8");
    }
    const { mediaType, version } = form;
    const { isPretty } = negotiateError(request.headers, query);
    const body = bodyOf(this.#object(version), { mediaType, isPretty });
    const warning = version === "v1alpha1" ? { warning: deprecated } : {};
    const type = `${mediaType};g=config.k8s.io;v=${version};as=Statusz`;
    return bytesResponse(200, [body], type, warning);
  }

  get #uptimeSeconds(): number {
    return Math.max(0, Math.floor((this.#deps.clock.nowMs() - this.#startMs) / 1000));
  }

  #object(version: string): object {
    return {
      kind: "Statusz",
      apiVersion: `config.k8s.io/${version}`,
      metadata: { name: component },
      startTime: new Date(this.#startMs).toISOString().replace(/\.\d+Z$/, "Z"),
      uptimeSeconds: this.#uptimeSeconds,
      goVersion: this.#deps.version.goVersion,
      binaryVersion: binaryVersion(this.#deps.version),
      emulationVersion: emulationVersion(this.#deps.version),
      paths: listed,
    };
  }

  #text(): string {
    const { version } = this.#deps;
    const lines = [
      "",
      `${component} statusz`,
      "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.",
      "",
      `Started: ${unixDate(this.#startMs)}`,
      `Up: ${uptimeText(this.#uptimeSeconds)}`,
      `Go version: ${version.goVersion}`,
      `Binary version: ${binaryVersion(version)}`,
      `Emulation version: ${emulationVersion(version)}`,
      `Paths: ${listed.join(" ")}`,
    ];
    return `${lines.join("\n")}\n`;
  }
}

/** The first clause that can be served decides. @throws ApiError 406. */
function formOf(accept: string): Form {
  if (accept.trim() === "") return { kind: "text" };
  for (const clause of parseAccept(accept)) {
    const { g, v, as } = clause.params as { g?: string; v?: string; as?: string };
    const mediaType = structured.find((type) => clauseMatches(clause, type));
    const isKnown = g === "config.k8s.io" && as === "Statusz" && versions.has(v);
    if (mediaType !== undefined && isKnown) return { kind: "object", mediaType, version: v ?? "" };
    if (as === undefined && clauseMatches(clause, plain)) return { kind: "text" };
  }
  const types = [...structured, plain].join(", ");
  throw failure(406, "NotAcceptable", `only the following media types are accepted: ${types}`);
}

/** `1.36.0` of `v1.36.0+pilothouse.0.1.0`. */
function binaryVersion({ gitVersion }: VersionInfo): string {
  return gitVersion.replace(/^v/, "").replace(/[+-].*$/, "");
}

function emulationVersion({ emulationMajor, emulationMinor }: VersionInfo): string {
  return `${emulationMajor}.${emulationMinor}`;
}

function uptimeText(seconds: number): string {
  const two = (value: number): string => String(Math.floor(value)).padStart(2, "0");
  return `${Math.floor(seconds / 3600)} hr ${two((seconds / 60) % 60)} min ${two(seconds % 60)} sec`;
}

/** `Sat Nov  7 01:56:12 UTC 2026` */
function unixDate(ms: number): string {
  const [weekday = "", day = "", month = "", year = "", time = ""] = new Date(ms)
    .toUTCString()
    .replace(",", "")
    .split(" ");
  return `${weekday} ${month} ${String(Number(day)).padStart(2)} ${time} UTC ${year}`;
}
