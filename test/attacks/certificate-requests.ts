/** Certificate requests as attackers send them: a subject of any names, signed by the key or not. */
import { createPrivateKey, sign } from "node:crypto";
import { makeKeyPair } from "#auth/pki.ts";
import { der, derBitString, derInteger, derOid, derText, Tag } from "#auth/der.ts";

export interface RequestNames {
  readonly commonName: string;
  readonly organizations?: readonly string[];
}

/** spec.request of a CertificateSigningRequest. `forged` is signed by another key than it names. */
export function certificateRequest(
  names: RequestNames,
  options: { forged?: boolean } = {},
): string {
  const pair = makeKeyPair();
  const signer = options.forged === true ? makeKeyPair() : pair;
  const info = der(
    Tag.sequence,
    derInteger(Uint8Array.of(0)),
    subject(names),
    pemBytes(pair.publicKey),
    der(0xa0),
  );
  const signature = sign("sha256", info, createPrivateKey(signer.privateKey));
  const algorithm = der(Tag.sequence, derOid("1.2.840.10045.4.3.2"));
  const whole = der(Tag.sequence, info, algorithm, derBitString(signature));
  return pem("CERTIFICATE REQUEST", whole);
}

export function pem(label: string, bytes: Uint8Array): string {
  const lines = Buffer.from(bytes)
    .toString("base64")
    .replace(/(.{64})/g, "$1\n");
  const text = `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`;
  return Buffer.from(text).toString("base64");
}

function subject({ commonName, organizations = [] }: RequestNames): Uint8Array {
  const attribute = (oid: string, value: string): Uint8Array =>
    der(Tag.set, der(Tag.sequence, derOid(oid), derText(value)));
  return der(
    Tag.sequence,
    ...organizations.map((name) => attribute("2.5.4.10", name)),
    attribute("2.5.4.3", commonName),
  );
}

function pemBytes(text: string): Uint8Array {
  return Buffer.from(text.replace(/-----[^-]+-----/g, ""), "base64");
}
