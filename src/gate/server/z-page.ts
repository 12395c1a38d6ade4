/**
 * Pages about a component, `/statusz` and `/flagz`: as text for people, and as an object of config.k8s.io for programs.
 *
 * After  k8s.io/component-base/zpages and k8s.io/apiserver/pkg/server/{statusz,flagz}, 1.36. Any method is accepted, as
 *        there. Upstream's texts separate names from values by a random separator, so that programs do not parse them;
 *        here it is the colon.
 */
import { failure } from "#api/status.ts";
import { clauseMatches, type MediaType, negotiateError, parseAccept } from "#forms/negotiate.ts";
import { bodyOf } from "#forms/body.ts";
import type { PlainRequest, PlainResponse } from "#platform/http.ts";
import { bytesResponse } from "./respond.ts";

export interface ZPage {
  readonly kind: "Statusz" | "Flagz";
  /** Upstream's name of the component: `apiserver`, `kube-scheduler`. */
  readonly component: string;
  /** Text after the title and its warning. */
  readonly text: () => string;
  /** Fields besides kind, version and name. */
  readonly fields: () => object;
}

const structured: readonly MediaType[] = ["application/json", "application/yaml"];
const plain = "text/plain";
const versions: ReadonlySet<string | undefined> = new Set(["v1beta1", "v1alpha1"]);
const warning =
  "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.";

type Form =
  | { readonly kind: "text" }
  | { readonly kind: "object"; readonly mediaType: MediaType; readonly version: string };

/** @throws ApiError 406. */
export function zPageResponse(page: ZPage, request: PlainRequest): PlainResponse {
  const { kind, component } = page;
  const form = formOf(request.headers["accept"] ?? "", kind);
  if (form.kind === "text") {
    const text = `\n${component} ${kind.toLowerCase()}\n${warning}\n${page.text()}`;
    return bytesResponse(200, [new TextEncoder().encode(text)], "text/plain; charset=utf-8");
  }
  const { mediaType, version } = form;
  const { isPretty } = negotiateError(request.headers, new URLSearchParams(request.query));
  const apiVersion = `config.k8s.io/${version}`;
  const object = { kind, apiVersion, metadata: { name: component }, ...page.fields() };
  const type = `${mediaType};g=config.k8s.io;v=${version};as=${kind}`;
  return bytesResponse(200, [bodyOf(object, { mediaType, isPretty })], type, warned(form, kind));
}

function warned({ version }: { readonly version: string }, kind: string): { warning?: string } {
  if (version !== "v1alpha1") return {};
  const name = kind.toLowerCase();
  const text = `This version of the ${name} endpoint is deprecated. Please use a newer version.`;
  return { warning: `299 - "${text}"` };
}

/** The first Accept clause that can be served decides. @throws ApiError 406. */
function formOf(accept: string, kind: string): Form {
  if (accept.trim() === "") return { kind: "text" };
  for (const clause of parseAccept(accept)) {
    const { g, v, as } = clause.params as { g?: string; v?: string; as?: string };
    const mediaType = structured.find((type) => clauseMatches(clause, type));
    const isKnown = g === "config.k8s.io" && as === kind && versions.has(v);
    if (mediaType !== undefined && isKnown) return { kind: "object", mediaType, version: v ?? "" };
    if (as === undefined && clauseMatches(clause, plain)) return { kind: "text" };
  }
  const types = [...structured, plain].join(", ");
  throw failure(406, "NotAcceptable", `only the following media types are accepted: ${types}`);
}
