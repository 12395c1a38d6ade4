/** The tag of an image reference, as far as the pull policy needs it (distribution reference grammar). */

/** `latest` for a reference with neither tag nor digest; "" for one with only a digest. */
export function imageTag(reference: string): string {
  const at = reference.indexOf("@");
  const named = at < 0 ? reference : reference.slice(0, at);
  const last = named.slice(named.lastIndexOf("/") + 1);
  const colon = last.indexOf(":");
  if (colon >= 0) return last.slice(colon + 1);
  return at < 0 ? "latest" : "";
}

/** Always for `latest`, else IfNotPresent; an unreadable reference counts as having no tag. */
export function pullPolicyFor(reference: string): "Always" | "IfNotPresent" {
  return reference !== "" && imageTag(reference) === "latest" ? "Always" : "IfNotPresent";
}
