/** Syntax of texts in objects: ports, environment, keys, paths, domains. Texts as upstream's. */
import type { FieldError } from "../status.ts";
import { isLonger, maxLengthText, subdomainErrors } from "../selectors/label-syntax.ts";
import { dns1123LabelErrors, regexText } from "../names.ts";
import { append, invalidEach, invalidValue, required, tooLong } from "./errors.ts";

export const nonNegativeText = "must be greater than or equal to 0";
const portNameMax = 15;
const configKeyMax = 253;

export function rangeText(min: number, max: number): string {
  return `must be between ${min} and ${max}, inclusive`;
}

export function portNumberErrors(port: number): string[] {
  return port >= 1 && port <= 65_535 ? [] : [rangeText(1, 65_535)];
}

/** Id of a user or group: the kernel has 32 bits, upstream allows 31 of them. */
export function idErrors(id: number | bigint): string[] {
  return id >= 0 && id <= 0x7fffffff ? [] : [rangeText(0, 0x7fffffff)];
}

export function portNameErrors(name: string): string[] {
  const errors: string[] = [];
  if (isLonger(name, portNameMax)) errors.push(maxLengthText(portNameMax));
  if (!/^[-a-z0-9]+$/.test(name)) {
    errors.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  }
  if (!/[a-z]/.test(name)) errors.push("must contain at least one letter (a-z)");
  if (name.includes("--")) errors.push("must not contain consecutive hyphens");
  if (name.startsWith("-") || name.endsWith("-")) {
    errors.push("must not begin or end with a hyphen");
  }
  return errors;
}

/** A port as number or name (IntOrString). */
export function checkPort(out: FieldError[], value: unknown, path: string): void {
  if (typeof value === "string") append(out, invalidEach(path, value, portNameErrors(value)));
  else {
    const port = typeof value === "number" ? value : 0;
    append(out, invalidEach(path, port, portNumberErrors(port)));
  }
}

export function envNameErrors(name: string): string[] {
  if (/^[\x20-\x3c\x3e-\x7e]*$/.test(name)) return [];
  return [
    "a valid environment variable name must consist only of printable ASCII characters other than '='",
  ];
}

export function configKeyErrors(name: string): string[] {
  const errors: string[] = [];
  if (isLonger(name, configKeyMax)) errors.push(maxLengthText(configKeyMax));
  if (!/^[-._a-zA-Z0-9]+$/.test(name)) {
    const text = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
    errors.push(regexText(text, "[-._a-zA-Z0-9]+", ["key.name", "KEY_NAME", "key-name"]));
  }
  if (name === "." || name === "..") errors.push(`must not be '${name}'`);
  else if (name.startsWith("..")) errors.push("must not start with '..'");
  return errors;
}

export function httpHeaderErrors(name: string): string[] {
  if (/^[-A-Za-z0-9]+$/.test(name)) return [];
  const text = "a valid HTTP header must consist of alphanumeric characters or '-'";
  return [regexText(text, "[-A-Za-z0-9]+", ["X-Header-Name"])];
}

export function percentErrors(value: string): string[] {
  if (/^[0-9]+%$/.test(value)) return [];
  const text = "a valid percent string must be a numeric string followed by an ending '%'";
  return [regexText(text, "[0-9]+%", ["1%", "93%"])];
}

const wildcardFormat = "\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";

export function wildcardDomainErrors(name: string): string[] {
  if (/^\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(name)) {
    return isLonger(name, 253) ? [maxLengthText(253)] : [];
  }
  const text =
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character";
  return [regexText(text, wildcardFormat, ["*.example.com"])];
}

export function underscoreDomainErrors(name: string): string[] {
  const label = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
  if (/^_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*$/.test(name)) {
    return [];
  }
  const text =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character";
  return [regexText(text, `${label}(\\.${label})*`, ["example.com"])];
}

export function checkNoBacksteps(out: FieldError[], path: string, field: string): void {
  if (!path.split("/").includes("..")) return;
  out.push(invalidValue(field, path, "must not contain '..'"));
}

export function checkRelativePath(out: FieldError[], path: string, field: string): void {
  if (path.startsWith("/")) out.push(invalidValue(field, path, "must be a relative path"));
  checkNoBacksteps(out, path, field);
}

/** A path within a mount; names that begin with two dots are reserved for the kubelet. */
export function checkLocalPath(out: FieldError[], path: string, field: string): void {
  checkRelativePath(out, path, field);
  if (path.startsWith("..") && !path.startsWith("../") && path !== "..") {
    out.push(invalidValue(field, path, "must not start with '..'"));
  }
}

/** `acme.io/foo` */
export function checkDomainPrefixedPath(out: FieldError[], value: string, field: string): void {
  if (value === "") {
    out.push(required(field));
    return;
  }
  const slash = value.indexOf("/");
  const host = value.slice(0, slash);
  const rest = value.slice(slash + 1);
  if (slash <= 0 || rest === "") {
    const detail = 'must be a domain-prefixed path (such as "acme.io/foo")';
    out.push(invalidValue(field, value, detail));
    return;
  }
  append(out, invalidEach(field, host, subdomainErrors(host)));
  if (!/^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/.test(rest)) {
    const text = regexText("Invalid path", "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+", []);
    out.push(invalidValue(field, rest, text));
  }
}

/** At least three labels without a dot at the end: names of webhooks. */
export function checkQualifiedDomain(out: FieldError[], name: string, field: string): void {
  if (name === "") {
    out.push(required(field));
    return;
  }
  const errors = subdomainErrors(name);
  if (errors.length > 0) out.push(invalidValue(field, name, errors.join(",")));
  else if (name.split(".").length < 3) {
    const detail = "should be a domain with at least three segments separated by dots";
    out.push(invalidValue(field, name, detail));
  }
}

/** At least two labels, with an optional dot at the end: FQDN endpoints. */
export function checkDomainName(out: FieldError[], value: string, field: string): void {
  const name = value.endsWith(".") ? value.slice(0, -1) : value;
  if (value === "") {
    out.push(required(field));
    return;
  }
  const errors = subdomainErrors(name);
  if (errors.length > 0) {
    out.push(invalidValue(field, name, errors.join(",")));
    return;
  }
  const labels = name.split(".");
  if (labels.length < 2) {
    const detail = "should be a domain with at least two segments separated by dots";
    out.push(invalidValue(field, name, detail));
    return;
  }
  const bad = labels.find((label) => dns1123LabelErrors(label).length > 0);
  if (bad !== undefined) out.push(invalidValue(field, bad, dns1123LabelErrors(bad).join(",")));
}

export function checkNonNegative(
  out: FieldError[],
  value: number | bigint | undefined,
  path: string,
): void {
  if (value !== undefined && value < 0) out.push(invalidValue(path, value, nonNegativeText));
}

const csiDriverMax = 63;

/** Name of a CSI driver in a reference, where case does not matter. */
export function checkDriverName(out: FieldError[], driver: string, path: string): void {
  if (driver === "") {
    out.push(required(path));
    return;
  }
  if (isLonger(driver, csiDriverMax)) out.push(tooLong(path, csiDriverMax));
  append(out, invalidEach(path, driver, subdomainErrors(driver.toLowerCase())));
}
