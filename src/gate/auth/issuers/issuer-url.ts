/** URLs of issuers and of their discovery documents: https, with nothing but a host and a path. */
import type { FieldError } from "#api/status.ts";
import { invalidValue } from "#api/validation/errors.ts";
import { type GoUrl, parseReference, UrlError } from "#cel/libraries/go-url.ts";

/** Returns upstream's findings, in its order. */
export function issuerUrlFaults(
  text: string,
  disallowed: readonly string[],
  field: string,
): readonly FieldError[] {
  const out: FieldError[] = [];
  const fault = (why: string): void => void out.push(invalidValue(field, text, why));
  if (disallowed.includes(text)) {
    const list = disallowed.toSorted().join(" ");
    fault(`URL must not overlap with disallowed issuers: [${list}]`);
  }
  const url = parsed(text);
  if (typeof url === "string") {
    fault(url);
    return out;
  }
  if (url.scheme !== "https") fault("URL scheme must be https");
  if (url.user !== undefined) fault("URL must not contain a username or password");
  if (url.rawQuery !== "") fault("URL must not contain a query");
  if (url.fragment !== "") fault("URL must not contain a fragment");
  return out;
}

/** Parses a URL. A text as result says why it is no URL. */
function parsed(text: string): GoUrl | string {
  try {
    return parseReference(text);
  } catch (error) {
    if (error instanceof UrlError) return error.message;
    throw error;
  }
}
