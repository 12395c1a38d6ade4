/** Names of signers, and the other kinds that contain them besides certificate signing requests. */
import type { FieldError } from "../status.ts";
import { subdomainErrors } from "../selectors/label-syntax.ts";
import { dns1123LabelErrors } from "../names.ts";
import type { Fields } from "./fields.ts";
import { items, maybeNumber, part, text } from "./fields.ts";
import { invalidValue, required, tooLong } from "./errors.ts";
import { semanticEqual } from "./equal.ts";
import { checkImmutable } from "./immutable.ts";
import { looksLikeDer, pemBlocks } from "./pem.ts";

const domainMax = 253;
/** Domain, slash, and the name of a namespaced object: a label, a dot and a subdomain. */
const signerMax = domainMax + 1 + 253 + 1 + 63;

const signerForm =
  "must be a fully qualified domain and path of the form 'example.com/signer-name'";

export function checkSigner(out: FieldError[], signer: string, path: string): void {
  if (signer === "") {
    out.push(required(path));
    return;
  }
  const [domain = "", name = "", ...rest] = signer.split("/", 3);
  if (!signer.includes("/") || rest.length > 0) {
    out.push(invalidValue(path, signer, signerForm));
    return;
  }
  if (domain.length > domainMax) out.push(tooLong(path, domainMax));
  const labels = domain.split(".");
  checkSegment(out, path, domain, { labels, errors: dns1123LabelErrors });
  if (labels.length < 2) {
    const detail = "should be a domain with at least two segments separated by dots";
    out.push(invalidValue(path, domain, detail));
  }
  checkSegment(out, path, name, { labels: name.split("."), errors: subdomainErrors });
  if (signer.length > signerMax) out.push(tooLong(path, signerMax));
}

/** Reports the first invalid label. */
function checkSegment(
  out: FieldError[],
  path: string,
  segment: string,
  rule: { readonly labels: readonly string[]; readonly errors: (label: string) => string[] },
): void {
  const wrong = rule.labels.find((label) => rule.errors(label).length > 0);
  if (wrong === undefined) return;
  for (const error of rule.errors(wrong)) {
    const detail = `validating label ${JSON.stringify(wrong)}: ${error}`;
    out.push(invalidValue(path, segment, detail));
  }
}

const bundleBytesMax = 1024 * 1024;
const bundlePath = "spec.trustBundle";

/** Does not check that an anchor is a CA certificate, because X.509 is not parsed here. */
export function validateTrustBundle(bundle: Fields): FieldError[] {
  const out = bundleName(bundle);
  const content = text(part(bundle, "spec"), "trustBundle");
  if (content.length > bundleBytesMax) return [...out, tooLong(bundlePath, bundleBytesMax)];
  const blocks = pemBlocks(content);
  const faults = blocks.flatMap((block, at) => {
    if (block.label !== "CERTIFICATE") return [`entry ${at} has bad block type: ${block.label}`];
    if (block.hasHeaders) return [`entry ${at} has PEM block headers`];
    return looksLikeDer(block) ? [] : [`entry ${at} does not parse as X.509`];
  });
  if (blocks.length === 0) faults.push("at least one trust anchor must be provided");
  if (faults.length === 0) faults.push(...repeated(blocks.map(({ body }) => body)));
  return [...out, ...faults.map((fault) => invalidValue(bundlePath, "<value omitted>", fault))];
}

function repeated(bodies: readonly string[]): readonly string[] {
  const places = new Map<string, number[]>();
  bodies.forEach((body, at) => places.set(body, [...(places.get(body) ?? []), at]));
  return [...places.values()]
    .filter((indices) => indices.length > 1)
    .map((indices) => `duplicate trust anchor (indices [${indices.join(" ")}])`);
}

function bundleName(bundle: Fields): FieldError[] {
  const out: FieldError[] = [];
  const name = text(part(bundle, "metadata"), "name");
  const signer = text(part(bundle, "spec"), "signerName");
  for (const fault of bundleNameFaults(name, signer)) {
    out.push(invalidValue("metadata.name", name, fault));
  }
  if (signer !== "") checkSigner(out, signer, "spec.signerName");
  return out;
}

function bundleNameFaults(name: string, signer: string): readonly string[] {
  if (signer === "") {
    const colon = 'ClusterTrustBundle without signer name must not have ":" in its name';
    return name.includes(":") ? [colon] : subdomainErrors(name);
  }
  const prefix = `${signer.replaceAll("/", ":")}:`;
  if (name.startsWith(prefix)) return subdomainErrors(name.slice(prefix.length));
  return [`ClusterTrustBundle for signerName ${signer} must be named with prefix ${prefix}`];
}

export function validateTrustBundleUpdate(next: Fields, old: Fields): FieldError[] {
  const same = semanticEqual(
    text(part(next, "spec"), "trustBundle"),
    text(part(old, "spec"), "trustBundle"),
  );
  const out = same ? bundleName(next) : validateTrustBundle(next);
  const at = { field: "signerName", path: "spec" };
  checkImmutable(out, part(next, "spec"), part(old, "spec"), at);
  return out;
}

const secondsMin = 3600;
const kubernetesSecondsMax = 86_400;
const othersSecondsMax = 91 * 86_400;

export function validatePodCertificateRequest(request: Fields): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(request, "spec");
  const signer = text(spec, "signerName");
  checkSigner(out, signer, "spec.signerName");
  for (const field of ["podUID", "serviceAccountUID", "nodeUID"]) {
    if (text(spec, field) === "") out.push(invalidValue(`spec.${field}`, "", "must not be empty"));
  }
  const path = "spec.maxExpirationSeconds";
  const seconds = maybeNumber(spec, "maxExpirationSeconds");
  if (seconds === undefined) return [...out, required(path, "must be set")];
  const [domain = ""] = signer.split("/", 1);
  const isKubernetes = domain === "kubernetes.io" || domain.endsWith(".kubernetes.io");
  const max = isKubernetes ? kubernetesSecondsMax : othersSecondsMax;
  if (seconds < secondsMin || seconds > max) {
    out.push(invalidValue(path, seconds, `must be in the range [${secondsMin}, ${max}]`));
  }
  return out;
}

export function validatePodCertificateUpdate(next: Fields, old: Fields): FieldError[] {
  const out: FieldError[] = [];
  checkImmutable(out, next, old, { field: "spec", path: "" });
  return out;
}

const terminal = new Set(["Issued", "Denied", "Failed"]);

/** The states issued, denied and failed are final. */
export function validatePodCertificateStatus(next: Fields, old: Fields): FieldError[] {
  const isDone = items(part(old, "status"), "conditions").some((each) =>
    terminal.has(text(each, "type")),
  );
  if (!isDone || semanticEqual(part(next, "status"), part(old, "status"))) return [];
  const detail = "immutable after PodCertificateRequest is issued, denied, or failed";
  return [invalidValue("status", next["status"], detail)];
}
