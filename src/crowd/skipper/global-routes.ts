/** Routes that no object asks for. */
import type { SkipperOptions } from "./options.ts";
import { call, type Route, shunt } from "./route.ts";

/** Of requests to every host over plain HTTP. */
export function globalRoutes({
  httpsRedirect,
  httpsRedirectCode,
}: SkipperOptions): readonly Route[] {
  if (!httpsRedirect) return [];
  const predicates = [call("Weight", 1000), call("Header", "X-Forwarded-Proto", "http")];
  const filters = [call("redirectTo", httpsRedirectCode, "https:")];
  return [{ id: "kube__redirect", predicates, filters, backend: shunt }];
}
