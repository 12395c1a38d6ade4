/**
 * Reads from the DER of a client certificate what Kubernetes needs: common name = user, organizations = groups, and the
 * validity.
 *
 * X509Certificate.subject is not used: in this printed form a comma in a name looks like a separator. A certificate
 * that this parser does not understand has no identity. Neither has one with a name that is not valid text
 * (certificate-text.ts); upstream refuses the handshake with such a certificate.
 */
import { given } from "#base/given.ts";
import { textOfName } from "./certificate-text.ts";
import { derChildren, derRead, derTimeMs, Tag } from "./der.ts";
import type { DerValue } from "./der.ts";

interface CertificateIdentity {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** Value of the Kubernetes attribute 1.3.6.1.4.1.57683.2, which most certificates do not have. */
  readonly uid?: string;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** Content octets of OIDs in hex, so that comparing them needs no decoder. */
const attributeOids = {
  commonName: "550403",
  organization: "55040a",
  uid: "2b0601040183c25302",
} as const;

export function certificateIdentity(bytes: Uint8Array): CertificateIdentity | undefined {
  const whole = derRead(bytes, 0);
  const outer = whole && derChildren(whole.content);
  const body = outer?.[0] && derChildren(outer[0].content);
  if (body === undefined) return undefined;
  // v3 and v2 certificates start with an explicit version, v1 with the serial number.
  const offset = body[0]?.tag === 0xa0 ? 1 : 0;
  const validity = body[offset + 3];
  const subject = body[offset + 4];
  if (validity === undefined || subject === undefined) return undefined;
  return certificateIdentityOf(validity, subject);
}

function certificateIdentityOf(
  validity: DerValue,
  subject: DerValue,
): CertificateIdentity | undefined {
  const times = derChildren(validity.content)?.map(derTimeMs);
  const attributes = subjectAttributes(subject);
  const notBeforeMs = times?.[0];
  const notAfterMs = times?.[1];
  if (attributes === undefined || notBeforeMs === undefined || notAfterMs === undefined) {
    return undefined;
  }
  const all = (oid: string): string[] => attributes.filter((a) => a.oid === oid).map((a) => a.text);
  const [uid, ...moreUids] = all(attributeOids.uid);
  if (moreUids.length > 0 || uid === "") return undefined;
  return {
    commonName: all(attributeOids.commonName).at(-1) ?? "",
    organizations: all(attributeOids.organization),
    ...given({ uid }),
    notBeforeMs,
    notAfterMs,
  };
}

interface SubjectAttribute {
  readonly oid: string;
  readonly text: string;
}

/** Reads an RDNSequence: a sequence of sets of (type, value). */
function subjectAttributes(subject: DerValue): readonly SubjectAttribute[] | undefined {
  const sets = derChildren(subject.content);
  if (sets === undefined) return undefined;
  const attributes: SubjectAttribute[] = [];
  for (const set of sets) {
    const pairs = derChildren(set.content);
    if (pairs === undefined) return undefined;
    for (const pair of pairs) {
      const [type, value] = derChildren(pair.content) ?? [];
      if (type?.tag !== Tag.oid || value === undefined) return undefined;
      const text = textOfName(value);
      if (text === undefined) return undefined;
      attributes.push({ oid: hex(type.content), text });
    }
  }
  return attributes;
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
