/**
 * Encryption at rest: which provider seals which resource, and which of all that are configured opens a value.
 *
 *   k8s:enc:aesgcm:v1:KEY:...     sealed; the first key of the first provider seals, every one opens what has its prefix
 *   k8s:enc:kms:v2:NAME:...       sealed by a key that a KMS plugin protects (kms-provider.ts)
 *   anything else                 identity, which opens nothing that begins with k8s:enc:
 *
 * Holds  a value opens with the provider that its prefix names, or not at all. `replace` exchanges all providers at
 *        once: no value is sealed by half of a configuration.
 * Which  a resource by its own name, else `*.GROUP`, else `*.*`; a name that stands in several entries has the
 *        providers of all of them, in their order. As upstream's encryptionconfig.
 */
import type { GroupResource } from "#api/object.ts";
import { assert } from "#base/assert.ts";
import { prefixOfKey, resourceOfPrefix } from "#registry/keys.ts";
import { type AtRest, isSealed, SealedValueError, type StoredValue } from "#store/at-rest.ts";
import type { Key } from "#store/store.ts";
import { type EncryptionConfiguration, patternOf, type Provider } from "./configuration.ts";
import { type Cipher, cipherOf, type KeyedCipher } from "./providers.ts";

/** Ciphers of KMS providers, by the provider's name. */
export type KmsCiphers = ReadonlyMap<string, KeyedCipher>;

/** Number of values that were sealed or opened, for metrics. */
interface TransformationCount {
  readonly type: "to_storage" | "from_storage";
  readonly resource: GroupResource;
  /** Prefix of the provider, such as `k8s:enc:aesgcm:v1:`, or `unknown`. */
  readonly prefix: string;
  readonly isOk: boolean;
  count: number;
}

interface Sealer {
  /** Undefined: the identity provider. */
  readonly prefix: string | undefined;
  readonly prefixBytes: Uint8Array;
  readonly label: string;
  readonly cipher: Cipher | undefined;
  /** The same cipher, if its keys change. */
  readonly keyed: KeyedCipher | undefined;
}

type Table = ReadonlyMap<string, readonly Sealer[]>;

const plain: readonly Sealer[] = [
  {
    prefix: undefined,
    prefixBytes: new Uint8Array(0),
    label: "identity",
    cipher: undefined,
    keyed: undefined,
  },
];

export class Transformers implements AtRest {
  #table: Table;
  /** Sealers by the resource prefix of a key; there are few prefixes. */
  #byResource = new Map<string, readonly Sealer[]>();
  /** Counts by direction, resource, prefix and outcome: a few for each resource. */
  readonly #counts = new Map<string, TransformationCount>();

  /** `kms`: a cipher for each KMS provider of the configuration. */
  constructor(configuration: EncryptionConfiguration, kms: KmsCiphers = new Map()) {
    this.#table = tableOf(configuration, kms);
  }

  counts(): Iterable<TransformationCount> {
    return this.#counts.values();
  }

  replace(configuration: EncryptionConfiguration, kms: KmsCiphers = new Map()): void {
    this.#table = tableOf(configuration, kms);
    this.#byResource = new Map();
  }

  seal(key: Key, path: string, value: Uint8Array): Uint8Array {
    const [first] = this.#sealers(key);
    if (first?.cipher === undefined) return value;
    const sealed = first.cipher.seal(path, value);
    this.#count("to_storage", key, first.label, true);
    return Buffer.concat([first.prefixBytes, sealed]);
  }

  open(key: Key, path: string, stored: Uint8Array): Uint8Array {
    if (!isSealed(stored)) return stored;
    const sealer = this.#sealerOf(key, stored);
    const label = sealer?.label ?? "unknown";
    try {
      if (sealer?.cipher === undefined)
        throw new SealedValueError(`no provider of the encryption configuration opens ${key}`);
      const value = sealer.cipher.open(path, stored.subarray(sealer.prefixBytes.length));
      this.#count("from_storage", key, label, true);
      return value;
    } catch (error) {
      this.#count("from_storage", key, label, false);
      throw error;
    }
  }

  prepare(values: Iterable<StoredValue>): Promise<void> | undefined {
    const wanted = new Map<KeyedCipher, Uint8Array[]>();
    for (const { key, value } of values) {
      if (!isSealed(value)) continue;
      const { keyed, prefixBytes } = this.#sealerOf(key, value) ?? {};
      if (keyed === undefined || prefixBytes === undefined) continue;
      const sealed = value.subarray(prefixBytes.length);
      const known = wanted.get(keyed);
      if (known === undefined) wanted.set(keyed, [sealed]);
      else known.push(sealed);
    }
    const waits = [...wanted].flatMap(([keyed, sealed]) => keyed.prepare(sealed) ?? []);
    return waits.length === 0 ? undefined : Promise.all(waits).then(() => undefined);
  }

  sealOf(key: Key, stored: Uint8Array): string {
    if (!isSealed(stored)) return "";
    const { prefix, prefixBytes, keyed } = this.#sealerOf(key, stored) ?? {};
    if (prefix === undefined || prefixBytes === undefined) return "unknown";
    if (keyed === undefined) return prefix;
    return prefix + keyed.keyOf(stored.subarray(prefixBytes.length));
  }

  isStale(key: Key, seal: string): boolean {
    const [first] = this.#sealers(key);
    if (first?.prefix === undefined) return seal !== "";
    if (first.keyed === undefined) return seal !== first.prefix;
    return seal !== first.prefix + (first.keyed.currentKey() ?? "");
  }

  #count(type: TransformationCount["type"], key: Key, prefix: string, isOk: boolean): void {
    const of = prefixOfKey(key) ?? "";
    const at = `${type} ${of} ${prefix} ${isOk}`;
    const known = this.#counts.get(at);
    if (known !== undefined) known.count++;
    else this.#counts.set(at, { type, resource: resourceOfPrefix(of), prefix, isOk, count: 1 });
  }

  #sealerOf(key: Key, stored: Uint8Array): Sealer | undefined {
    return this.#sealers(key).find(
      ({ cipher, prefixBytes }) => cipher !== undefined && startsWith(stored, prefixBytes),
    );
  }

  #sealers(key: Key): readonly Sealer[] {
    const prefix = prefixOfKey(key) ?? "";
    const known = this.#byResource.get(prefix);
    if (known !== undefined) return known;
    const { group, resource } = resourceOfPrefix(prefix);
    const wanted = [nameOf(resource, group), nameOf("*", group), "*.*"];
    const found = wanted.map((name) => this.#table.get(name)).find((one) => one !== undefined);
    const sealers = found ?? plain;
    this.#byResource.set(prefix, sealers);
    return sealers;
  }
}

function nameOf(resource: string, group: string): string {
  return `${resource}.${group}`;
}

function startsWith(bytes: Uint8Array, prefix: Uint8Array): boolean {
  return bytes.length >= prefix.length && prefix.every((byte, at) => bytes[at] === byte);
}

function tableOf({ resources }: EncryptionConfiguration, kms: KmsCiphers): Table {
  const table = new Map<string, readonly Sealer[]>();
  for (const entry of resources) {
    const sealers = entry.providers.flatMap((provider) => sealersOf(provider, kms));
    for (const text of entry.resources) {
      const { group, resource } = patternOf(text);
      const name = nameOf(resource, group);
      table.set(name, [...(table.get(name) ?? []), ...sealers]);
    }
  }
  return table;
}

function sealersOf(provider: Provider, kms: KmsCiphers): readonly Sealer[] {
  if (provider.kind === "identity") return plain;
  if (provider.kind === "kms") return [kmsSealer(provider.name, kms)];
  return provider.keys.map(({ name, secret }) => {
    const label = `k8s:enc:${provider.kind}:v1:`;
    const prefix = `${label}${name}:`;
    return sealer(prefix, label, cipherOf(provider.kind, secret));
  });
}

function kmsSealer(name: string, kms: KmsCiphers): Sealer {
  const keyed = kms.get(name);
  assert(keyed !== undefined, "a KMS provider of a configuration has a cipher", { name });
  const prefix = `k8s:enc:kms:v2:${name}:`;
  return { ...sealer(prefix, prefix, keyed), keyed };
}

function sealer(prefix: string, label: string, cipher: Cipher): Sealer {
  const prefixBytes = new TextEncoder().encode(prefix);
  return { prefix, prefixBytes, label, cipher, keyed: undefined };
}
