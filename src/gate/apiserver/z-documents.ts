/** `/statusz` and `/flagz` of the API server. */
import type { Clock } from "#platform/clock.ts";
import type { PlainResponse } from "#platform/http.ts";
import type { RequestContext } from "#server/context.ts";
import { flagzPage, type ShownFlags } from "#server/flagz.ts";
import { statuszPage } from "#server/statusz.ts";
import type { VersionInfo } from "#server/version.ts";
import { type ZPage, zPageResponse } from "#server/z-page.ts";
import type { Documents } from "./non-resource.ts";

interface ZDeps {
  readonly clock: Clock;
  readonly version: VersionInfo;
  /** Flags of the command line. Undefined: a program started the server, without a command line. */
  readonly flags: ShownFlags | undefined;
}

const component = "apiserver";
/** Paths shown at /statusz: the endpoints for people and probes. */
const listed = ["/flagz", "/healthz", "/livez", "/metrics", "/readyz", "/statusz", "/version"];

/** Makes the documents; call it at the start of the server. */
export function zDocuments({ flags = {}, ...facts }: ZDeps): Documents {
  const pages: ReadonlyMap<string, ZPage> = new Map([
    ["/flagz", flagzPage(component, flags)],
    ["/statusz", statuszPage({ ...facts, component, paths: listed })],
  ]);
  return {
    paths: () => [...pages.keys()],
    serve({ request }: RequestContext): PlainResponse | undefined {
      const page = pages.get(request.path);
      return page === undefined ? undefined : zPageResponse(page, request);
    },
  };
}
