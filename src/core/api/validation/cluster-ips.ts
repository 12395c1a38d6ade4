/** Cluster addresses of services and their families: at most one per family, and immutable. */
import type { FieldError } from "../status.ts";
import type { Fields } from "./fields.ts";
import { part, text, texts } from "./fields.ts";
import {
  child,
  duplicate,
  index,
  invalidValue,
  notSupported,
  required,
  repeatedAt,
} from "./errors.ts";
import { checkIfGiven } from "./choices.ts";
import { checkAddress, isDualStack, parseAddress } from "./ip.ts";

const families = ["IPv4", "IPv6"];
const familyPolicies = ["PreferDualStack", "RequireDualStack", "SingleStack"];
const addressesMax = 2;
const path = "spec.clusterIPs";

export function isHeadless(spec: Fields): boolean {
  const ips = texts(spec, "clusterIPs");
  return ips.length === 1 && ips[0] === "None";
}

export function checkClusterIps(out: FieldError[], spec: Fields, old: Fields | undefined): void {
  const kept = new Set(texts(part(old ?? {}, "spec"), "clusterIPs"));
  const ips = texts(spec, "clusterIPs");
  const first = text(spec, "clusterIP");
  if (first !== "" && ips.length === 0) out.push(required(path));
  else if (first !== "" && ips[0] !== first) {
    out.push(invalidValue(path, ips, "first value must match `clusterIP`"));
  } else if (first === "" && ips.length > 0) {
    out.push(invalidValue(path, ips, "must be empty when `clusterIP` is not specified"));
  }
  checkFamilies(out, spec);
  if (!checkEach(out, ips, kept)) return;
  if (ips.length > 1 && !isDualStack(ips)) {
    const detail = "may specify no more than one IP for each IP family";
    out.push(invalidValue(path, ips, detail));
  }
  if (!isHeadless(spec)) checkExpected(out, ips, texts(spec, "ipFamilies"));
}

function checkFamilies(out: FieldError[], spec: Fields): void {
  const given = texts(spec, "ipFamilies");
  const repeated = new Set(repeatedAt(given));
  given.forEach((family, at) => {
    const here = index("spec.ipFamilies", at);
    if (!families.includes(family)) out.push(notSupported(here, family, families));
    if (repeated.has(at)) out.push(duplicate(here, family));
  });
  checkIfGiven(out, spec["ipFamilyPolicy"], familyPolicies, "spec.ipFamilyPolicy");
}

/** @returns whether every address can be parsed. */
function checkEach(out: FieldError[], ips: readonly string[], kept: ReadonlySet<string>): boolean {
  let fine = true;
  ips.forEach((ip, at) => {
    if (at === 0 && ip === "None") {
      if (ips.length === 1) return;
      fine = false;
      out.push(invalidValue(path, ips, "'None' must be the first and only value"));
    } else if (!checkAddress(out, ip, index(path, at), kept)) fine = false;
  });
  if (ips.length > addressesMax) {
    out.push(invalidValue(path, ips, `may only hold up to ${addressesMax} values`));
  }
  return fine;
}

function checkExpected(
  out: FieldError[],
  ips: readonly string[],
  expected: readonly string[],
): void {
  ips.forEach((ip, at) => {
    const family = expected[at];
    if (family === undefined || parseAddress(ip)?.family === family) return;
    const detail = `expected an ${family} value as indicated by \`ipFamilies[${at}]\``;
    out.push(invalidValue(index(path, at), ip, detail));
  });
}

const once = "may not change once set";

export function checkClusterIpsUpdate(out: FieldError[], spec: Fields, before: Fields): void {
  const isName = text(spec, "type") === "ExternalName" || text(before, "type") === "ExternalName";
  if (isName) return;
  const headless = isHeadless(spec);
  const wasHeadless = isHeadless(before);
  if (!(headless && wasHeadless)) checkListUpdate(out, spec, before, "clusterIPs");
  if (!headless && !wasHeadless) checkListUpdate(out, spec, before, "ipFamilies");
}

/** The first address is immutable; a second may be added, and removed again with SingleStack. */
function checkListUpdate(
  out: FieldError[],
  spec: Fields,
  before: Fields,
  field: "clusterIPs" | "ipFamilies",
): void {
  const next = texts(spec, field);
  const old = texts(before, field);
  const at = child("spec", field);
  const secondary = field === "clusterIPs" ? "clusterIP" : "ipFamily";
  if (old.length === next.length) {
    old.forEach((value, i) => {
      const here = field === "clusterIPs" ? index(at, i) : index(at, 0);
      if (value !== next[i]) out.push(invalidValue(here, next, once));
    });
    return;
  }
  if (old.length > 0 && next.length > 0 && old[0] !== next[0]) {
    out.push(invalidValue(index(at, 0), next, once));
  }
  if (old.length < next.length) return;
  if (next.length === 0) {
    out.push(invalidValue(index(at, 0), next, `primary ${secondary} can not be unset`));
  }
  if (next.length === 1 && text(spec, "ipFamilyPolicy") !== "SingleStack") {
    const detail = `must be set to 'SingleStack' when releasing the secondary ${secondary}`;
    out.push(invalidValue("spec.ipFamilyPolicy", spec["ipFamilyPolicy"], detail));
  }
}
