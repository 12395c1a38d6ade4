/** What lets others check service account tokens: the OIDC discovery document and the key set. */
import { discoveryPath, jwksPath } from "#auth/oidc.ts";
import type { PlainResponse } from "#platform/http.ts";
import type { RequestContext } from "#server/context.ts";
import { requireForm } from "#forms/negotiate.ts";
import { bytesResponse } from "#server/respond.ts";
import { requireGet } from "./method.ts";
import type { Documents } from "./non-resource.ts";

export interface IssuerFacts {
  readonly discovery: object;
  readonly keys: object;
}

const keysType = "application/jwk-set+json";
const cached = { "cache-control": "public, max-age=3600" };
const encoder = new TextEncoder();

export function issuerDocuments(facts: IssuerFacts): Documents {
  const discovery = encoder.encode(JSON.stringify(facts.discovery));
  const keys = encoder.encode(JSON.stringify(facts.keys));
  return {
    paths: () => [discoveryPath, jwksPath],
    serve: (context: RequestContext): PlainResponse | undefined => {
      switch (context.request.path) {
        case discoveryPath:
          requireGet(context.request);
          requireForm(context.request.headers, ["application/json"]);
          return bytesResponse(200, [discovery], "application/json", cached);
        case jwksPath:
          requireGet(context.request);
          requireForm(context.request.headers, [keysType]);
          return bytesResponse(200, [keys], keysType, cached);
        default:
          return undefined;
      }
    },
  };
}
