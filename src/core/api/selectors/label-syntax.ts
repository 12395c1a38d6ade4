/**
 * Syntax of label keys and values (a "qualified name" and a label value), with upstream's findings
 * as texts (apimachinery pkg/util/validation). Linear in the length of the text.
 */

const nameMax = 63;
const subdomainMax = 253;
const nameFormat = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const valueFormat = `(${nameFormat})?`;
const labelFormat = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const subdomainFormat = `${labelFormat}(\\.${labelFormat})*`;

const nameRegex = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const subdomainRegex = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

const nameText =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const valueText =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const subdomainText =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";

/** Errors of `text` as a label or annotation key; empty when it is valid. */
export function qualifiedNameErrors(text: string): string[] {
  const parts = text.split("/");
  if (parts.length > 2) {
    return [
      `a valid label key ${regexError(nameText, nameFormat, ["MyName", "my.name", "123-abc"])}` +
        " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
    ];
  }
  const errors = parts.length === 2 ? prefixErrors(parts[0] ?? "") : [];
  return [...errors, ...namePartErrors(parts.at(-1) ?? "")];
}

function prefixErrors(prefix: string): string[] {
  if (prefix === "") return ["prefix part must be non-empty"];
  return keyPrefixErrors(prefix).map((text) => `prefix part ${text}`);
}

/** Errors of a subdomain as the prefix of a key, whose length is limited in bytes. */
export function keyPrefixErrors(prefix: string): string[] {
  return domainErrors(prefix, tooLong(subdomainMax));
}

function namePartErrors(name: string): string[] {
  const errors: string[] = [];
  if (name === "") errors.push("name part must be non-empty");
  else if (isLonger(name, nameMax)) errors.push(`name part ${tooLong(nameMax)}`);
  if (!nameRegex.test(name)) {
    const text = regexError(nameText, nameFormat, ["MyName", "my.name", "123-abc"]);
    errors.push(`name part ${text}`);
  }
  return errors;
}

/** Errors of `text` as a label value; empty when it is valid, as "" is. */
export function labelValueErrors(text: string): string[] {
  const errors: string[] = [];
  if (isLonger(text, nameMax)) errors.push(tooLong(nameMax));
  if (text !== "" && !nameRegex.test(text)) {
    errors.push(regexError(valueText, valueFormat, ["MyValue", "my_value", "12345"]));
  }
  return errors;
}

/** Errors of `text` as an RFC 1123 subdomain. For names upstream's text says characters but counts bytes. */
export function subdomainErrors(text: string): string[] {
  return domainErrors(text, maxLengthText(subdomainMax));
}

function domainErrors(text: string, lengthText: string): string[] {
  const errors: string[] = [];
  if (isLonger(text, subdomainMax)) errors.push(lengthText);
  if (!subdomainRegex.test(text)) {
    errors.push(regexError(subdomainText, subdomainFormat, ["example.com"]));
  }
  return errors;
}

/** The text for names. */
export function maxLengthText(max: number): string {
  return `must be no more than ${max} characters`;
}

/** The text for label keys and values. */
function tooLong(max: number): string {
  return `must be no more than ${max} bytes`;
}

function regexError(text: string, format: string, examples: readonly string[]): string {
  const quoted = examples.map((example) => `'${example}', `).join(" or ");
  return `${text} (e.g. ${quoted}regex used for validation is '${format}')`;
}

const wide = /\P{ASCII}/u;

/** Whether `text` has more bytes in UTF-8; counted only where bytes and characters may differ. */
export function isLonger(text: string, bytesMax: number): boolean {
  if (text.length > bytesMax || !wide.test(text)) return text.length > bytesMax;
  return new TextEncoder().encode(text).byteLength > bytesMax;
}
