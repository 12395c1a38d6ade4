/** Facts that a signer needs from its own certificate, read directly from DER. */
import { X509Certificate } from "node:crypto";
import { must } from "#base/assert.ts";
import { given } from "#base/given.ts";
import { der, derChildren, derRead, type DerValue, Tag } from "./der.ts";

interface AuthorityFacts {
  /** Name of the authority as its certificate encodes it. It becomes the issuer of the certificates it signs. */
  readonly subject: Uint8Array;
  /** Absent: the certificate has no subject key identifier. */
  readonly keyId?: Uint8Array;
}

/** Content octets of the OID 2.5.29.14. */
const subjectKeyId = Buffer.from("551d0e", "hex");
const extensionsTag = 0xa3;

/** Reads the facts. node:crypto has read the certificate `pem` before, so its structure is sound. */
export function authorityFacts(pem: string): AuthorityFacts {
  const whole = derRead(new X509Certificate(pem).raw, 0);
  const body = whole && childrenOf(childrenOf(whole)[0]);
  const fields = must(body, "a certificate is a sequence");
  const offset = fields[0]?.tag === 0xa0 ? 1 : 0;
  const subject = must(fields[offset + 4], "a certificate has a subject");
  const extensions = fields.find(({ tag }) => tag === extensionsTag);
  const keyId = keyIdOf(childrenOf(childrenOf(extensions)[0]));
  return {
    subject: der(subject.tag, subject.content),
    ...given({ keyId }),
  };
}

function keyIdOf(extensions: readonly DerValue[]): Uint8Array | undefined {
  for (const extension of extensions) {
    const parts = childrenOf(extension);
    if (parts[0] === undefined || !subjectKeyId.equals(parts[0].content)) continue;
    const value = derRead(parts.at(-1)?.content ?? new Uint8Array(), 0);
    if (value?.tag === Tag.octetString) return value.content;
  }
  return undefined;
}

function childrenOf(value: DerValue | undefined): readonly DerValue[] {
  return (value && derChildren(value.content)) ?? [];
}
