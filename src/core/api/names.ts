/**
 * Names: the valid names of each kind of thing, and how a generated name is made. Findings carry upstream's exact
 * texts (apimachinery util/validation, api/validation); an empty list means the name is valid.
 */
import { ownEntry } from "#base/own.ts";
import {
  isLonger,
  keyPrefixErrors,
  maxLengthText,
  subdomainErrors,
} from "./selectors/label-syntax.ts";

/** @param prefix the text is a generateName: one trailing dash is then fine. */
export type NameValidator = (name: string, prefix: boolean) => readonly string[];

/** Source of randomness for generated suffixes; `platform` Random fits. */
export interface NameRandom {
  /** Uniform integer in [0, bound). */
  below(bound: number): number;
}

const labelMax = 63;
const generatedNameMax = 63;
const suffixLength = 5;
/** Without vowels, so that no words appear, and without 0, 1 and 3, which resemble letters. */
const suffixAlphabet = "bcdfghjklmnpqrstvwxz2456789";

const labelFormat = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const labelRegex = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const subdomainRegex = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const labelText =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
const label1035Format = "[a-z]([-a-z0-9]*[a-z0-9])?";
const label1035Regex = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const label1035Text =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";

/** The base cut to 58 bytes plus 5 random characters: 27^5 = 14 million suffixes. */
export function generateName(base: string, random: NameRandom): string {
  const kept = base.slice(0, generatedNameMax - suffixLength);
  let suffix = "";
  for (let at = 0; at < suffixLength; at++) {
    suffix += suffixAlphabet.charAt(random.below(suffixAlphabet.length));
  }
  return kept + suffix;
}

export function dns1123LabelErrors(text: string): string[] {
  const errors = isLonger(text, labelMax) ? [maxLengthText(labelMax)] : [];
  if (labelRegex.test(text)) return errors;
  if (subdomainRegex.test(text)) return [...errors, "must not contain dots"];
  return [...errors, regexText(labelText, labelFormat, ["my-name", "123-abc"])];
}

export function dns1035LabelErrors(text: string): string[] {
  const errors = isLonger(text, labelMax) ? [maxLengthText(labelMax)] : [];
  if (label1035Regex.test(text)) return errors;
  return [...errors, regexText(label1035Text, label1035Format, ["my-name", "abc-123"])];
}

/** The rule for most kinds. */
export const dnsSubdomainName: NameValidator = (name, prefix) =>
  subdomainErrors(prefix ? maskTrailingDash(name) : name);

/** For kinds whose names upstream checks declaratively: the same rule with another text. */
const declaredSubdomainName: NameValidator = (name, prefix) =>
  keyPrefixErrors(prefix ? maskTrailingDash(name) : name);

/** For Namespaces, Services, StatefulSets. */
export const dnsLabelName: NameValidator = (name, prefix) =>
  dns1123LabelErrors(prefix ? maskTrailingDash(name) : name);

/** For RBAC: any URL path segment. */
export const pathSegmentName: NameValidator = (name, prefix) => {
  if (!prefix && (name === "." || name === "..")) return [`may not be '${name}'`];
  return ["/", "%"]
    .filter((part) => name.includes(part))
    .map((part) => `may not contain '${part}'`);
};

/** For certificate signing requests. */
const anyName: NameValidator = () => [];

/** A generateName with its trailing dash replaced, so that it can be validated like a name. */
export function maskTrailingDash(name: string): string {
  return name.length > 1 && name.endsWith("-") ? `${name.slice(0, -2)}a` : name;
}

const validators: Readonly<Record<string, NameValidator>> = {
  "/namespaces": dnsLabelName,
  "/replicationcontrollers": declaredSubdomainName,
  "resource.k8s.io/deviceclasses": declaredSubdomainName,
  "/services": dnsLabelName,
  "apps/statefulsets": dnsLabelName,
  "certificates.k8s.io/certificatesigningrequests": anyName,
  // The name depends on the signer: validation/signers.ts.
  "certificates.k8s.io/clustertrustbundles": anyName,
  "rbac.authorization.k8s.io/roles": pathSegmentName,
  "rbac.authorization.k8s.io/rolebindings": pathSegmentName,
  "rbac.authorization.k8s.io/clusterroles": pathSegmentName,
  "rbac.authorization.k8s.io/clusterrolebindings": pathSegmentName,
  "networking.k8s.io/ipaddresses": pathSegmentName,
  "apiregistration.k8s.io/apiservices": pathSegmentName,
};

/** The rule for names of one resource; custom resources and most built-ins: DNS-1123 subdomain. */
export function nameValidatorFor(group: string, resource: string): NameValidator {
  return ownEntry(validators, `${group}/${resource}`) ?? dnsSubdomainName;
}

/** Upstream's sentence about a pattern that did not match. */
export function regexText(text: string, format: string, examples: readonly string[]): string {
  if (examples.length === 0) return `${text} (regex used for validation is '${format}')`;
  const quoted = examples.map((example) => `'${example}', `).join(" or ");
  return `${text} (e.g. ${quoted}regex used for validation is '${format}')`;
}
