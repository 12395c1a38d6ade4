/** Certificate signing requests. Texts as upstream's certificates/validation. */
import type { FieldError } from "../status.ts";
import { decodeBase64Text } from "../defaults/base64.ts";
import { isApproval } from "../strategies/policies.ts";
import type { Fields } from "./fields.ts";
import { items, maybeNumber, part, text, texts } from "./fields.ts";
import {
  child,
  duplicate,
  forbiddenField,
  index,
  invalidValue,
  notSupported,
  required,
  repeatedAt,
} from "./errors.ts";
import { semanticEqual } from "./equal.ts";
import { looksLikeDer, pemBlocks } from "./pem.ts";
import { checkSigner } from "./signers.ts";

const secondsMin = 600;
const legacySigner = "kubernetes.io/legacy-unknown";
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

/** Maximum characters of base64 before the request begins; whole groups of four. */
const requestLengthMax = 256 * 1024;

export function validateSigningRequest(request: Fields): FieldError[] {
  const out: FieldError[] = [];
  checkRequest(out, part(request, "spec"));
  checkConditions(out, conditionsOf(request), []);
  return out;
}

function checkRequest(out: FieldError[], spec: Fields): void {
  const given = texts(spec, "usages");
  const pem = decodeBase64Text(text(spec, "request").slice(0, requestLengthMax)) ?? "";
  // Admission's CertificateProof checks that it is readable and proves possession of its key.
  if (!pem.includes("-----BEGIN CERTIFICATE REQUEST-----")) {
    const detail = "PEM block type must be CERTIFICATE REQUEST";
    out.push(invalidValue("spec.request", spec["request"], detail));
  }
  if (given.length === 0) out.push(required("spec.usages"));
  const repeated = new Set(repeatedAt(given));
  given.forEach((usage, at) => {
    if (!usages.includes(usage)) out.push(notSupported(index("spec.usages", at), usage, usages));
  });
  given.forEach((usage, at) => {
    if (repeated.has(at)) out.push(duplicate(index("spec.usages", at), usage));
  });
  const signer = text(spec, "signerName");
  if (signer === legacySigner) {
    const detail = "the legacy signerName is not allowed via this API version";
    out.push(invalidValue("spec.signerName", signer, detail));
  } else checkSigner(out, signer, "spec.signerName");
  const seconds = maybeNumber(spec, "expirationSeconds");
  if (seconds !== undefined && seconds < secondsMin) {
    const detail = "may not specify a duration less than 600 seconds (10 minutes)";
    out.push(invalidValue("spec.expirationSeconds", seconds, detail));
  }
}

const trueOnly = new Set(["Approved", "Denied", "Failed"]);

function conditionsOf(request: Fields): readonly Fields[] {
  return items(part(request, "status"), "conditions");
}

/** Errors that the stored request already has are accepted. */
function checkConditions(
  out: FieldError[],
  conditions: readonly Fields[],
  before: readonly Fields[],
): void {
  const path = "status.conditions";
  const typesBefore = before.map((condition) => text(condition, "type"));
  const mayBeEmpty = typesBefore.includes("");
  const mayRepeat = new Set(typesBefore).size < typesBefore.length;
  const mayContradict = typesBefore.includes("Approved") && typesBefore.includes("Denied");
  const seen = new Set<string>();
  conditions.forEach((condition, at) => {
    const here = index(path, at);
    const type = text(condition, "type");
    if (type === "" && !mayBeEmpty) out.push(required(child(here, "type")));
    checkConditionStatus(out, condition, here);
    const other = type === "Approved" ? "Denied" : "Approved";
    if (isApproval(condition) && seen.has(other) && !mayContradict) {
      const detail = "Approved and Denied conditions are mutually exclusive";
      out.push(invalidValue(path, type, detail));
    }
    if (seen.has(type) && !mayRepeat) out.push(duplicate(child(here, "type"), type));
    seen.add(type);
  });
}

function checkConditionStatus(out: FieldError[], condition: Fields, here: string): void {
  const status = text(condition, "status");
  const supported = trueOnly.has(text(condition, "type")) ? ["True"] : ["False", "True", "Unknown"];
  if (status === "") out.push(required(child(here, "status")));
  else if (!supported.includes(status)) {
    out.push(notSupported(child(here, "status"), status, supported));
  }
}

/** Only approvers approve and deny; only signers set the certificate, and only once. */
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
  checkConditions(out, conditionsOf(next), conditionsOf(old));
  const now = text(part(next, "status"), "certificate");
  const before = text(part(old, "status"), "certificate");
  const fault = now === before ? undefined : certificateFault(now);
  if (fault !== undefined && certificateFault(before) === undefined) {
    out.push(invalidValue("status.certificate", "<certificate data>", fault));
  }
  for (const type of trueOnly) checkNotRemoved(out, next, old, type);
  if (!may.approval) for (const type of ["Approved", "Denied"]) checkKept(out, next, old, type);
  if (now === before) return out;
  const path = "status.certificate";
  if (!may.certificate) out.push(forbiddenField(path, "updates may not set certificate content"));
  else if (before !== "") {
    out.push(forbiddenField(path, "updates may not modify existing certificate content"));
  }
  return out;
}

/** Why the certificate is invalid; an absent certificate is valid. */
function certificateFault(encoded: string): string | undefined {
  if (encoded === "") return undefined;
  const blocks = pemBlocks(decodeBase64Text(encoded) ?? "");
  for (const block of blocks) {
    if (block.label !== "CERTIFICATE") {
      return `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(block.label)}`;
    }
    if (block.hasHeaders) return "no PEM block headers are permitted";
    if (!looksLikeDer(block)) return "x509: malformed certificate";
  }
  return blocks.length === 0 ? "must contain at least one CERTIFICATE PEM block" : undefined;
}

function ofType(request: Fields, type: string): readonly Fields[] {
  return conditionsOf(request).filter((each) => text(each, "type") === type);
}

function checkNotRemoved(out: FieldError[], next: Fields, old: Fields, type: string): void {
  if (ofType(next, type).length >= ofType(old, type).length) return;
  const detail = `updates may not remove a condition of type ${JSON.stringify(type)}`;
  out.push(forbiddenField("status.conditions", detail));
}

function checkKept(out: FieldError[], next: Fields, old: Fields, type: string): void {
  const now = ofType(next, type);
  const before = ofType(old, type);
  if (now.length < before.length || semanticEqual(now, before)) return;
  const verb = now.length > before.length ? "add" : "modify";
  const detail = `updates may not ${verb} a condition of type ${JSON.stringify(type)}`;
  out.push(forbiddenField("status.conditions", detail));
}
