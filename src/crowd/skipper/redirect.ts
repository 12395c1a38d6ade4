/** Redirect from plain HTTP to HTTPS by an object's annotations or the operator's options. */
import type { SkipperOptions } from "./options.ts";

export interface Redirect {
  /** Status code of the redirect. Undefined: no redirect. */
  readonly code: number | undefined;
  /** Whether the object excludes itself from a global redirect, so that it serves plain HTTP. */
  readonly isDisabled: boolean;
  /** Whether the object's own predicates or routes check the forwarded protocol. */
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

/** Parses the code of the annotation. Undefined: it is absent, or not a code of a redirect. */
function codeOf(text: string | undefined): number | undefined {
  if (text === undefined || !/^[+-]?[0-9]+$/.test(text)) return undefined;
  const code = Number(text);
  return code >= 300 && code < 400 ? code : undefined;
}
