/** Serves the OIDC discovery document and the key set, with which others check service account tokens. */
import { discoveryPath, jwksPath } from "#auth/oidc.ts";
import type { PlainResponse } from "#platform/http.ts";
import type { RequestContext } from "#server/context.ts";
import { requireForm } from "#forms/negotiate.ts";
import { bytesResponse } from "#server/respond.ts";
import { requireGet } from "./method.ts";
import type { Documents } from "./non-resource.ts";

/** Returns the current documents; keys may be added and removed. */
export type IssuerFacts = () => { readonly discovery: object; readonly keys: object };

const keysType = "application/jwk-set+json";
const cached = { "cache-control": "public, max-age=3600" };
const encoder = new TextEncoder();

export function issuerDocuments(facts: IssuerFacts): Documents {
  const bytesOf = (document: object): Uint8Array => encoder.encode(JSON.stringify(document));
  return {
    paths: () => [discoveryPath, jwksPath],
    serve: (context: RequestContext): PlainResponse | undefined => {
      switch (context.request.path) {
        case discoveryPath:
          requireGet(context.request);
          requireForm(context.request.headers, ["application/json"]);
          return bytesResponse(200, [bytesOf(facts().discovery)], "application/json", cached);
        case jwksPath:
          requireGet(context.request);
          requireForm(context.request.headers, [keysType]);
          return bytesResponse(200, [bytesOf(facts().keys)], keysType, cached);
        default:
          return undefined;
      }
    },
  };
}
