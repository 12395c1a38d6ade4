/** Certificate signing requests. Texts as upstream's certificates/validation. */
import type { FieldError } from "../status.ts";
import { subdomainErrors } from "../label-syntax.ts";
import { decodeBase64Text } from "../defaults/base64.ts";
import { isApproval } from "../strategies/policies.ts";
import type { Fields } from "./fields.ts";
import { items, maybeNumber, part, text, texts } from "./fields.ts";
import {
  child,
  duplicate,
  forbidden,
  index,
  invalidValue,
  notSupported,
  required,
} from "./errors.ts";
import { semanticEqual } from "./equal.ts";

const secondsMin = 600;
const signerMax = 571;
const usages = [
  "any",
  "cert sign",
  "client auth",
  "code signing",
  "content commitment",
  "crl sign",
  "data encipherment",
  "decipher only",
  "digital signature",
  "email protection",
  "encipher only",
  "ipsec end system",
  "ipsec tunnel",
  "ipsec user",
  "key agreement",
  "key encipherment",
  "microsoft sgc",
  "netscape sgc",
  "ocsp signing",
  "s/mime",
  "server auth",
  "signing",
  "timestamping",
];

/** Characters of base64 in which a request begins, at the latest: whole groups of four. */
const requestLengthMax = 256 * 1024;

export function validateSigningRequest(request: Fields): FieldError[] {
  const out: FieldError[] = [];
  checkRequest(out, part(request, "spec"));
  checkConditions(out, items(part(request, "status"), "conditions"));
  return out;
}

function checkRequest(out: FieldError[], spec: Fields): void {
  const given = texts(spec, "usages");
  if (given.length === 0) out.push(required("spec.usages"));
  const pem = decodeBase64Text(text(spec, "request").slice(0, requestLengthMax)) ?? "";
  if (!pem.includes("-----BEGIN CERTIFICATE REQUEST-----")) {
    const detail = "PEM block type must be CERTIFICATE REQUEST";
    out.push(invalidValue("spec.request", spec["request"], detail));
  }
  given.forEach((usage, at) => {
    const path = index("spec.usages", at);
    if (!usages.includes(usage)) out.push(notSupported(path, usage, usages));
    if (given.indexOf(usage) < at) out.push(duplicate(path, usage));
  });
  checkSigner(out, text(spec, "signerName"), "spec.signerName");
  const seconds = maybeNumber(spec, "expirationSeconds");
  if (seconds !== undefined && seconds < secondsMin) {
    const detail = "may not specify a duration less than 600 seconds (10 minutes)";
    out.push(invalidValue("spec.expirationSeconds", seconds, detail));
  }
}

const signerForm =
  "must be a fully qualified domain and path of the form 'example.com/signer-name'";

export function checkSigner(out: FieldError[], signer: string, path: string): void {
  if (signer === "") {
    out.push(required(path));
    return;
  }
  const [domain = "", ...rest] = signer.split("/");
  if (rest.length !== 1) {
    out.push(invalidValue(path, signer, signerForm));
    return;
  }
  const name = rest[0] ?? "";
  if (!domain.includes(".") || subdomainErrors(domain).length > 0) {
    out.push(
      invalidValue(path, signer, `validating label ${JSON.stringify(domain)}: ${signerForm}`),
    );
  }
  if (subdomainErrors(name).length > 0) {
    out.push(invalidValue(path, signer, `validating label ${JSON.stringify(name)}: ${signerForm}`));
  }
  if (signer.length > signerMax) {
    out.push(invalidValue(path, signer, `may not be more than ${signerMax} bytes`));
  }
}

const trueOnly = new Set(["Approved", "Denied", "Failed"]);

function checkConditions(out: FieldError[], conditions: readonly Fields[]): void {
  const path = "status.conditions";
  const seen = new Set<string>();
  conditions.forEach((condition, at) => {
    const here = index(path, at);
    const type = text(condition, "type");
    const status = text(condition, "status");
    if (type === "") out.push(required(child(here, "type")));
    const supported = trueOnly.has(type) ? ["True"] : ["False", "True", "Unknown"];
    if (status === "") out.push(required(child(here, "status")));
    else if (!supported.includes(status)) {
      out.push(notSupported(child(here, "status"), status, supported));
    }
    const other = type === "Approved" ? "Denied" : "Approved";
    if (isApproval(condition) && seen.has(other)) {
      const detail = "Approved and Denied conditions are mutually exclusive";
      out.push(invalidValue(child(here, "type"), type, detail));
    }
    if (seen.has(type)) out.push(duplicate(child(here, "type"), type));
    seen.add(type);
  });
}

/** Only approvers approve and deny; only signers hand out certificates, once. */
export function validateSigningRequestUpdate(next: Fields, old: Fields): FieldError[] {
  return checkUpdate(next, old, { approval: false, certificate: false });
}

export function validateSigningStatus(next: Fields, old: Fields): FieldError[] {
  return checkUpdate(next, old, { approval: false, certificate: true });
}

export function validateApproval(next: Fields, old: Fields): FieldError[] {
  return checkUpdate(next, old, { approval: true, certificate: false });
}

function checkUpdate(
  next: Fields,
  old: Fields,
  may: { readonly approval: boolean; readonly certificate: boolean },
): FieldError[] {
  const out: FieldError[] = [];
  checkConditions(out, items(part(next, "status"), "conditions"));
  for (const type of ["Approved", "Denied"]) checkApprovalKept(out, next, old, { type, ...may });
  const now = text(part(next, "status"), "certificate");
  const before = text(part(old, "status"), "certificate");
  if (now === before) return out;
  const path = "status.certificate";
  if (!may.certificate) out.push(forbidden(path, "updates may not set certificate content"));
  else if (before !== "") {
    out.push(forbidden(path, "updates may not modify existing certificate content"));
  }
  return out;
}

function conditionsOf(request: Fields, type: string): readonly Fields[] {
  return items(part(request, "status"), "conditions").filter((each) => text(each, "type") === type);
}

function checkApprovalKept(
  out: FieldError[],
  next: Fields,
  old: Fields,
  may: { readonly type: string; readonly approval: boolean },
): void {
  const now = conditionsOf(next, may.type);
  const before = conditionsOf(old, may.type);
  if (now.length > before.length && may.approval) return;
  if (now.length === before.length && semanticEqual(now, before)) return;
  let verb = "modify";
  if (now.length > before.length) verb = "add";
  else if (now.length < before.length) verb = "remove";
  const detail = `updates may not ${verb} a condition of type ${JSON.stringify(may.type)}`;
  out.push(forbidden("status.conditions", detail));
}
