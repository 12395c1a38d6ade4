/**
 * What a host answers beside the paths of its Ingresses: 404 when none of them takes every path, and the redirects of
 * that. Made of all Ingresses with that host, in the order of namespace and name.
 */
import { draft, finished, notRedirected, redirected } from "./draft.ts";
import { type HostSummary, routeId } from "./ingress.ts";
import { type Route, shunt } from "./route.ts";

export function hostRest(host: string, summaries: readonly HostSummary[]): readonly Route[] {
  if (summaries.length === 0 || summaries.some(({ hasCatchAll }) => hasCatchAll)) return [];
  const pattern = summaries[0]?.pattern ?? "";
  const hosts = pattern === "" ? [] : [pattern];
  const rest = draft(routeId("", "catchall", host, "", ""), hosts, shunt);
  const code = summaries.findLast(({ redirectCode }) => redirectCode !== undefined)?.redirectCode;
  const isDisabled = summaries.some(({ isRedirectDisabled }) => isRedirectDisabled);
  const routes = [rest];
  if (code !== undefined) routes.push(redirected(rest, code));
  if (isDisabled) routes.push(notRedirected(rest));
  return routes.map(finished);
}
