/** From plain HTTP to HTTPS, as an object's annotations or the operator say. */
import type { SkipperOptions } from "./options.ts";

export interface Redirect {
  /** The status of a redirect; undefined: none is asked for. */
  readonly code: number | undefined;
  /** Requests over HTTP are served, whatever a redirect of all says. */
  readonly isDisabled: boolean;
  /** The object's own routes look at the forwarded protocol. */
  readonly isIgnored: boolean;
}

export function redirectOf(
  annotations: ReadonlyMap<string, string>,
  { httpsRedirect, httpsRedirectCode }: SkipperOptions,
): Redirect {
  const asked = annotations.get("zalando.org/skipper-ingress-redirect");
  const isDisabled = asked === "false";
  const isIgnored = ["skipper-predicate", "skipper-routes"].some((name) =>
    annotations.get(`zalando.org/${name}`)?.includes('Header("X-Forwarded-Proto"'),
  );
  const isAsked = asked === "true" || (httpsRedirect && !isDisabled);
  const code = codeOf(annotations.get("zalando.org/skipper-ingress-redirect-code"));
  return { code: isAsked ? (code ?? httpsRedirectCode) : undefined, isDisabled, isIgnored };
}

/** Undefined: no redirect. */
function codeOf(text: string | undefined): number | undefined {
  if (text === undefined || !/^[+-]?[0-9]+$/.test(text)) return undefined;
  const code = Number(text);
  return code >= 300 && code < 400 ? code : undefined;
}
