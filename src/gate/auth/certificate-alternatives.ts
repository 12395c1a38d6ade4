/**
 * Reads the requested subject alternative names of a certificate request (RFC 2986 attributes, RFC 5280 4.2.1.6).
 *
 *   attributes [0]  SET OF SEQUENCE { type OID, values SET }; of type extensionRequest the first value is
 *   extensions      SEQUENCE OF SEQUENCE { id OID, critical BOOLEAN?, value OCTET STRING }
 *
 * Holds  as in upstream, other extensions and other kinds of names are ignored: they give no rights. An extension that
 *        occurs twice is an error, so that two readers cannot choose different ones.
 * Differs  a URI that Go's net/url would write in another form than it read is an error here.
 */
import { type DerValue, derChildren, derRead, Tag } from "./der.ts";

export interface AlternativeNames {
  readonly dns: readonly string[];
  readonly emails: readonly string[];
  /** IP addresses of 4 or 16 octets each. */
  readonly addresses: readonly Uint8Array[];
  readonly uris: readonly string[];
}

type AlternativeNamesReading =
  | { readonly kind: "read"; readonly names: AlternativeNames }
  | { readonly kind: "unreadable"; readonly fault: string };

/** Content octets of the OIDs 1.2.840.113549.1.9.14 and 2.5.29.17. */
const extensionRequest = Buffer.from("2a864886f70d01090e", "hex");
const subjectAltName = Buffer.from("551d11", "hex");

/** Context-specific tags of GeneralName. */
const nameTags = { email: 0x81, dns: 0x82, uri: 0x86, address: 0x87 } as const;

class Fault extends Error {}

export function requestedNames(attributes: DerValue | undefined): AlternativeNamesReading {
  try {
    const value = requestedExtensions(attributes).get(key(subjectAltName));
    return { kind: "read", names: value === undefined ? none : namesOf(value) };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { kind: "unreadable", fault: error.message };
  }
}

const none: AlternativeNames = { dns: [], emails: [], addresses: [], uris: [] };

/** Returns the requested extensions by the hex of their OIDs. */
function requestedExtensions(attributes: DerValue | undefined): ReadonlyMap<string, Uint8Array> {
  const found = new Map<string, Uint8Array>();
  for (const attribute of (attributes && derChildren(attributes.content)) ?? []) {
    const [type, values, ...rest] = derChildren(attribute.content) ?? [];
    // Attributes of another form are ignored, as upstream.
    if (type?.tag !== Tag.oid || values?.tag !== Tag.set || rest.length > 0) continue;
    if (!extensionRequest.equals(type.content)) continue;
    for (const { id, value } of extensionsOf(values)) {
      if (found.has(id)) {
        throw new Fault("x509: certificate request contains duplicate requested extensions");
      }
      found.set(id, value);
    }
  }
  return found;
}

function extensionsOf(
  values: DerValue,
): readonly { readonly id: string; readonly value: Uint8Array }[] {
  const [list] = derChildren(values.content) ?? [];
  const extensions = list?.tag === Tag.sequence ? derChildren(list.content) : undefined;
  if (extensions === undefined) throw new Fault("asn1: structure error: malformed extensions");
  return extensions.map((extension) => {
    const parts = (extension.tag === Tag.sequence && derChildren(extension.content)) || [];
    const [id, second, third] = parts;
    const value = parts.length === 3 && second?.tag === Tag.boolean ? third : second;
    if (id?.tag !== Tag.oid || value?.tag !== Tag.octetString || value !== parts.at(-1)) {
      throw new Fault("asn1: structure error: malformed extension");
    }
    return { id: key(id.content), value: value.content };
  });
}

function namesOf(value: Uint8Array): AlternativeNames {
  const list = derRead(value, 0);
  const entries = list?.tag === Tag.sequence ? derChildren(list.content) : undefined;
  if (entries === undefined || list?.end !== value.length) {
    throw new Fault("x509: invalid subject alternative names");
  }
  const of = (tag: number): readonly Uint8Array[] =>
    entries.filter((entry) => entry.tag === tag).map((entry) => entry.content);
  return {
    dns: of(nameTags.dns).map((bytes) => plainText(bytes, "dNSName")),
    emails: of(nameTags.email).map((bytes) => plainText(bytes, "rfc822Name")),
    addresses: of(nameTags.address).map(addressOf),
    uris: of(nameTags.uri).map((bytes) => uriOf(plainText(bytes, "uniformResourceIdentifier"))),
  };
}

/** Returns the text, and refuses control characters: some readers in C end a name at one. */
function plainText(bytes: Uint8Array, kind: string): string {
  const isPlain = bytes.every((octet) => octet >= 0x20 && octet < 0x7f);
  if (isPlain) return Buffer.from(bytes).toString("latin1");
  throw new Fault(`x509: SAN ${kind} is malformed`);
}

function addressOf(bytes: Uint8Array): Uint8Array {
  if (bytes.length === 4 || bytes.length === 16) return bytes;
  throw new Fault(`x509: cannot parse IP address of length ${bytes.length}`);
}

const uriForm =
  /^([a-z][a-z0-9+.-]*):(?:\/\/([a-z0-9.:@_~-]*)(?=[/?#]|$))?(?:[\w\-.~:/?#@!$&'()*+,;=]|%[0-9A-F]{2})*$/;

function uriOf(text: string): string {
  const [whole, , host = ""] = uriForm.exec(text) ?? [];
  if (whole === undefined) throw new Fault(`x509: cannot parse URI ${JSON.stringify(text)}`);
  if (host.endsWith(".") || host.includes("..")) {
    throw new Fault(`x509: cannot parse URI ${JSON.stringify(text)}: invalid domain`);
  }
  return text;
}

function key(oid: Uint8Array): string {
  return Buffer.from(oid).toString("hex");
}
