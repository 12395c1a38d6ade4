/**
 * Encryption at rest: which provider seals which resource, and which of all that are configured opens a value.
 *
 *   k8s:enc:aesgcm:v1:KEY:...     sealed; the first key of the first provider seals, every one opens what has its prefix
 *   anything else                 identity, which opens nothing that begins with k8s:enc:
 *
 * Holds  a value opens with the provider that its prefix names, or not at all. `replace` exchanges all providers at
 *        once: no value is sealed by half of a configuration.
 * Which  a resource by its own name, else `*.GROUP`, else `*.*`; a name that stands in several entries has the
 *        providers of all of them, in their order. As upstream's encryptionconfig.
 */
import type { GroupResource } from "#api/object.ts";
import { prefixOfKey, resourceOfPrefix } from "#registry/keys.ts";
import { type AtRest, isSealed, SealedValueError } from "#store/at-rest.ts";
import type { Key } from "#store/store.ts";
import { type EncryptionConfiguration, patternOf, type Provider } from "./configuration.ts";
import { type Cipher, cipherOf } from "./providers.ts";

/** How often values went one way, for metrics. */
interface TransformationCount {
  readonly type: "to_storage" | "from_storage";
  readonly resource: GroupResource;
  /** `k8s:enc:aesgcm:v1:`, or `unknown`. */
  readonly prefix: string;
  readonly isOk: boolean;
  count: number;
}

interface Sealer {
  /** Undefined: identity. */
  readonly prefix: string | undefined;
  readonly prefixBytes: Uint8Array;
  readonly label: string;
  readonly cipher: Cipher | undefined;
}

type Table = ReadonlyMap<string, readonly Sealer[]>;

const plain: readonly Sealer[] = [
  { prefix: undefined, prefixBytes: new Uint8Array(0), label: "identity", cipher: undefined },
];

export class Transformers implements AtRest {
  #table: Table;
  /** By prefix of a key: few. */
  #byResource = new Map<string, readonly Sealer[]>();
  /** A few for each resource. */
  readonly #counts = new Map<string, TransformationCount>();

  constructor(configuration: EncryptionConfiguration) {
    this.#table = tableOf(configuration);
  }

  counts(): Iterable<TransformationCount> {
    return this.#counts.values();
  }

  replace(configuration: EncryptionConfiguration): void {
    this.#table = tableOf(configuration);
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

  isStale(key: Key, stored: Uint8Array): boolean {
    const [first] = this.#sealers(key);
    if (first?.cipher === undefined) return isSealed(stored);
    return !startsWith(stored, first.prefixBytes);
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

function tableOf({ resources }: EncryptionConfiguration): Table {
  const table = new Map<string, readonly Sealer[]>();
  for (const entry of resources) {
    const sealers = entry.providers.flatMap(sealersOf);
    for (const text of entry.resources) {
      const { group, resource } = patternOf(text);
      const name = nameOf(resource, group);
      table.set(name, [...(table.get(name) ?? []), ...sealers]);
    }
  }
  return table;
}

function sealersOf(provider: Provider): readonly Sealer[] {
  if (provider.kind === "identity") return plain;
  return provider.keys.map(({ name, secret }) => {
    const label = `k8s:enc:${provider.kind}:v1:`;
    const prefix = `${label}${name}:`;
    const prefixBytes = new TextEncoder().encode(prefix);
    return { prefix, prefixBytes, label, cipher: cipherOf(provider.kind, secret) };
  });
}
