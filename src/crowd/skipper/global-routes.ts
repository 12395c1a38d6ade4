/** Routes that do not belong to any object. */
import type { SkipperOptions } from "./options.ts";
import { call, type Route, shunt } from "./route.ts";

/** Returns the redirect to HTTPS for plain HTTP requests to any host, when the options enable it. */
export function globalRoutes({
  httpsRedirect,
  httpsRedirectCode,
}: SkipperOptions): readonly Route[] {
  if (!httpsRedirect) return [];
  const predicates = [call("Weight", 1000), call("Header", "X-Forwarded-Proto", "http")];
  const filters = [call("redirectTo", httpsRedirectCode, "https:")];
  return [{ id: "kube__redirect", predicates, filters, backend: shunt }];
}
