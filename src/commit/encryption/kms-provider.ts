/**
 * One KMS v2 plugin: asked for its state in the background, and the keys that it has given out.
 *
 *   no key ──(status and encrypt agree on the key id)──▶ writes, for 3 minutes more after each good status
 *                 ▲                                          │ another key id: a new seed
 *                 └───(10 s, or a minute while well)─────────┘ faults: the old seed, until it expires
 *
 * Holds  nothing is sealed by a seed whose key id the plugin has not confirmed within 3 minutes. Values open as long as
 *        their seed is remembered, whatever the plugin does.
 * Bounds `keysMax` seeds, the one used longest ago goes; `askedMax` questions at once; refusals are remembered for 10 s.
 * After  upstream's encryptionconfig/config.go and kmsv2/envelope.go, texts included.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { internalError } from "#api/status.ts";
import { type Clock, sleep, type Timer } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import { KeyAwayError, SealedValueError } from "#store/at-rest.ts";
import { rpcText } from "#wire/grpc-unary.ts";
import { isAway, type KmsClient } from "./kms-client.ts";
import {
  cipherOfSource,
  decodeEnvelope,
  encodeEnvelope,
  hashOfId,
  keyIdFault,
  seedBytes,
  seedCipher,
  sourceFault,
  sourceKey,
  SourceType,
} from "./kms-envelope.ts";
import type { DekSource } from "./kms-messages.ts";
import { KmsRecords } from "./kms-records.ts";
import { LruMap } from "./lru-map.ts";
import type { Cipher, KeyedCipher } from "./providers.ts";

/** Intervals and life times; the values are upstream's. */
const wellEveryMs = 60_000;
const faultyEveryMs = 10_000;
const seedLivesMs = 3 * 60_000;
/** Maximum age of a status that health shows without a new request. */
const wellShownMs = 20_000;
const faultyShownMs = 3_000;

const keysMax = 10_000;
const refusalsMax = 1_000;
const refusalMs = 10_000;
const askedMax = 16;
const retryMs = 1_000;
/** Maximum number of unanswered attempts to decrypt one seed while the plugin reports to be healthy. */
const unansweredMax = 3;

interface WriteKey {
  readonly source: DekSource;
  readonly cipher: Cipher;
  readonly key: string;
  /** Time of expiry on the monotonic clock. */
  expiresMs: number;
}

interface StatusAnswer {
  readonly version: string;
  readonly healthz: string;
  readonly keyId: string;
}

interface KmsProviderDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly client: Pick<KmsClient, "status" | "encrypt" | "decrypt" | "close">;
  readonly records: KmsRecords;
}

export class KmsProvider implements KeyedCipher {
  readonly name: string;
  readonly records: KmsRecords;
  readonly #deps: KmsProviderDeps;
  readonly #keys: LruMap<Cipher>;
  readonly #refusals = new LruMap<{ readonly why: string; readonly atMs: number }>(refusalsMax);
  readonly #asking = new Map<string, Promise<void>>();
  readonly #closing = new AbortController();
  #write: WriteKey | undefined;
  #version = "";
  #checking: Promise<string | undefined> | undefined;
  #last: { readonly fault: string | undefined; readonly atMs: number } | undefined;
  #timer: Timer | undefined;

  /** `keys`: cache of a provider of the same name that this one replaces. */
  constructor(deps: KmsProviderDeps, name: string, keys = new LruMap<Cipher>(keysMax)) {
    this.#deps = deps;
    this.name = name;
    this.records = deps.records;
    this.#keys = keys;
  }

  /** Cache of decrypted keys, which a successor may take over. */
  get keys(): LruMap<Cipher> {
    return this.#keys;
  }

  /** Resolves after the first status request, whether it succeeded or not. */
  async start(): Promise<void> {
    await this.check();
    this.#arm();
  }

  close(): void {
    this.#closing.abort();
    this.#timer?.cancel();
    this.#deps.client.close();
  }

  /** Requests the status now, or joins a request under way. @returns what is wrong. Never rejects. */
  check(): Promise<string | undefined> {
    this.#checking ??= this.#ask().finally(() => (this.#checking = undefined));
    return this.#checking;
  }

  /** Returns the last status; an old one is requested again in the background. */
  fault(): string | undefined {
    const last = this.#last;
    const shownMs = last?.fault === undefined ? wellShownMs : faultyShownMs;
    if (last === undefined) return "the plugin has not answered yet";
    if (this.#deps.clock.monotonicMs() - last.atMs >= shownMs) this.#checkAgain();
    return last.fault;
  }

  /** @throws ApiError 500 while there is no key to seal with. */
  seal(path: string, value: Uint8Array): Uint8Array {
    const write = this.#writeKey();
    const sealed = write.cipher.seal(path, value);
    this.#keys.set(write.key, write.cipher);
    this.records.used("to_storage", this.name, write.source.keyId);
    return encodeEnvelope(write.source, sealed);
  }

  open(path: string, sealed: Uint8Array): Uint8Array {
    const envelope = decodeEnvelope(sealed);
    const key = sourceKey(envelope);
    const cipher = this.#keys.get(key);
    if (cipher === undefined) throw this.#missing(key, envelope);
    const value = cipher.open(path, envelope.encryptedData);
    this.records.used("from_storage", this.name, envelope.keyId);
    return value;
  }

  prepare(sealed: readonly Uint8Array[]): Promise<void> | undefined {
    const wanted = new Map<string, DekSource>();
    for (const one of sealed) {
      const source = sourceOf(one);
      if (source === undefined) continue;
      const key = sourceKey(source);
      const isSettled = this.#keys.get(key) !== undefined || this.#refusalOf(key) !== undefined;
      if (!isSettled) wanted.set(key, source);
    }
    return wanted.size === 0 ? undefined : this.#prepareAll(wanted);
  }

  keyOf(sealed: Uint8Array): string {
    const source = sourceOf(sealed);
    return source === undefined ? "" : idOf(source);
  }

  currentKey(): string | undefined {
    return this.#write === undefined ? undefined : idOf(this.#write.source);
  }

  #writeKey(): WriteKey {
    const write = this.#write;
    if (write === undefined) throw internalError("got unexpected nil transformer");
    const { clock } = this.#deps;
    const overMs = clock.monotonicMs() - write.expiresMs;
    if (overMs <= 0) return write;
    const nowMs = clock.nowMs();
    const hash = JSON.stringify(hashOfId(write.source.keyId));
    throw internalError(
      `encryptedDEKSource with keyID hash ${hash} expired at ${rfc3339(nowMs - overMs)} (current time is ${rfc3339(nowMs)})`,
    );
  }

  #missing(key: string, source: DekSource): SealedValueError {
    const refusal = this.#refusalOf(key);
    if (refusal !== undefined) return new SealedValueError(refusal);
    if (this.#asking.size < askedMax) this.#askInBackground(key, source);
    return new KeyAwayError("the KMS plugin is being asked for the key of this value");
  }

  #refusalOf(key: string): string | undefined {
    const refusal = this.#refusals.get(key);
    if (refusal === undefined) return undefined;
    return this.#deps.clock.monotonicMs() - refusal.atMs < refusalMs ? refusal.why : undefined;
  }

  #askInBackground(key: string, source: DekSource): void {
    // An unreachable plugin is not an answer: the next reading asks again. `#decrypted` never rejects for another reason.
    void this.#decrypted(key, source).catch(() => undefined);
  }

  /** Requests all wanted keys, at most `askedMax` at once. */
  async #prepareAll(wanted: ReadonlyMap<string, DekSource>): Promise<void> {
    const rest = wanted.entries();
    const work = async (): Promise<void> => {
      for (const [key, source] of rest) await this.#settled(key, source);
    };
    await Promise.all(Array.from({ length: Math.min(askedMax, wanted.size) }, work));
  }

  /** Resolves when the plugin has given the key or refused it. Retries while the plugin is unreachable. */
  async #settled(key: string, source: DekSource): Promise<void> {
    const { clock, log } = this.#deps;
    const { signal } = this.#closing;
    for (let unanswered = 0; !signal.aborted;) {
      try {
        return await this.#decrypted(key, source);
      } catch (error) {
        log.warn("stored values wait for the KMS plugin", {
          name: this.name,
          error: rpcText(error),
        });
        if ((await this.check()) === undefined) unanswered++;
        if (unanswered >= unansweredMax) return this.#refuse(key, error);
        await sleep(clock, "encryption.kms", retryMs, signal);
      }
    }
  }

  #refuse(key: string, error: unknown): void {
    const why = `failed to decrypt DEK, error: ${rpcText(error)}`;
    this.#refusals.set(key, { why, atMs: this.#deps.clock.monotonicMs() });
  }

  /** Decrypts a source. Rejects with GrpcError while the plugin is unreachable; a refusal is remembered. */
  #decrypted(key: string, source: DekSource): Promise<void> {
    const asking = this.#asking.get(key);
    if (asking !== undefined) return asking;
    const asked = this.#decrypt(key, source).finally(() => this.#asking.delete(key));
    this.#asking.set(key, asked);
    return asked;
  }

  async #decrypt(key: string, source: DekSource): Promise<void> {
    const { client } = this.#deps;
    try {
      const { plaintext } = await client.decrypt(randomUUID(), source);
      this.#keys.set(key, cipherOfSource(source.encryptedDekSourceType, plaintext));
    } catch (error) {
      if (isAway(error)) throw error;
      this.#refuse(key, error);
    }
  }

  #arm(): void {
    if (this.#closing.signal.aborted) return;
    const everyMs = this.#last?.fault === undefined ? wellEveryMs : faultyEveryMs;
    this.#timer = this.#deps.clock.after("encryption.kms", everyMs, () => {
      this.#checkAgain(() => this.#arm());
    });
  }

  #checkAgain(then: () => void = () => {}): void {
    // `check` never rejects.
    void this.check().then(then);
  }

  async #ask(): Promise<string | undefined> {
    const { client, clock, log } = this.#deps;
    let fault: string | undefined;
    try {
      fault = await this.#judge(await client.status());
    } catch (error) {
      fault = `failed to perform status section of the healthz check for KMS Provider ${this.name}, error: ${rpcText(error)}`;
    }
    if (fault !== undefined && !this.#closing.signal.aborted)
      log.error("kms plugin failed health check probe", { name: this.name, error: fault });
    this.#last = { fault, atMs: clock.monotonicMs() };
    return fault;
  }

  async #judge(answer: StatusAnswer): Promise<string | undefined> {
    const faults = [...this.#answerFaults(answer)];
    const { code, fault } = keyIdFault(answer.keyId) ?? {};
    if (fault !== undefined) {
      this.records.invalidStatusKeyId(this.name, code);
      const hash = JSON.stringify(hashOfId(answer.keyId));
      faults.push(`got invalid KMSv2 KeyID hash ${hash}: ${fault}`);
    } else {
      this.records.statusKeyId(this.name, answer.keyId);
      const why = await this.#confirm(answer.keyId);
      if (why !== undefined) faults.push(why);
    }
    if (faults.length === 0) return undefined;
    const text = faults.length === 1 ? faults[0] : `[${faults.join(", ")}]`;
    return `kmsv2 Provider ${this.name} is not healthy, error: ${text}`;
  }

  *#answerFaults({ healthz, version }: StatusAnswer): Generator<string> {
    if (healthz !== "ok") yield `got unexpected healthz status: ${short(healthz)}`;
    if (version !== "v2" && version !== "v2beta1") {
      yield `expected KMSv2 API version v2, got ${short(version)}`;
      return;
    }
    if (this.#version === "") this.#version = version;
    if (this.#version !== version)
      yield `KMSv2 API version should not change after the initial status response version ${this.#version}, got ${version}`;
  }

  /** Extends the seed's life when the key id is the same, and makes a new seed otherwise. @returns why it failed. */
  async #confirm(keyId: string): Promise<string | undefined> {
    const { clock } = this.#deps;
    // Computed before the plugin is called, because the bound holds from the call on.
    const expiresMs = clock.monotonicMs() + seedLivesMs;
    const before = this.#write;
    if (before?.source.keyId === keyId) {
      before.expiresMs = expiresMs;
      return undefined;
    }
    const uid = randomUUID();
    const made = await this.#newKey(uid, expiresMs);
    if (typeof made !== "string" && made.source.keyId === keyId) {
      this.#write = made;
      this.#keys.set(made.key, made.cipher);
      return undefined;
    }
    const hashes = [keyId, typeof made === "string" ? "" : made.source.keyId, before?.source.keyId];
    const [status, encrypt, state] = hashes.map((id) => JSON.stringify(hashOfId(id ?? "")));
    const nil = "<nil>";
    return `failed to rotate DEK uid=${JSON.stringify(uid)}, useSeed=true, errState=${before === undefined ? "got unexpected nil transformer" : nil}, errGen=${typeof made === "string" ? made : nil}, statusKeyIDHash=${status}, encryptKeyIDHash=${encrypt}, stateKeyIDHash=${state}, expirationTimestamp=${this.#expiryText(before)}`;
  }

  #expiryText(write: WriteKey | undefined): string {
    if (write === undefined) return "0001-01-01T00:00:00Z";
    const { clock } = this.#deps;
    return rfc3339(clock.nowMs() + write.expiresMs - clock.monotonicMs());
  }

  /** Makes a new key; a text says why it failed. */
  async #newKey(uid: string, expiresMs: number): Promise<WriteKey | string> {
    const seed = randomBytes(seedBytes);
    try {
      const { ciphertext, keyId, annotations } = await this.#deps.client.encrypt(uid, seed);
      const source: DekSource = {
        keyId,
        encryptedDekSource: ciphertext.slice(),
        annotations: annotations.map(({ key, value }) => ({ key, value: value.slice() })),
        encryptedDekSourceType: SourceType.seed,
      };
      const fault = sourceFault(source);
      if (fault !== undefined) return fault;
      return { source, cipher: seedCipher(seed), key: sourceKey(source), expiresMs };
    } catch (error) {
      return `failed to encrypt DEK, error: ${rpcText(error)}`;
    }
  }
}

/** Maximum length of a plugin's text in the log and in health: the plugin could send megabytes. */
const shortMax = 1_000;

function short(text: string): string {
  return text.length <= shortMax ? text : `${text.slice(0, shortMax)}...`;
}

function sourceOf(sealed: Uint8Array): DekSource | undefined {
  try {
    return decodeEnvelope(sealed);
  } catch (error) {
    if (error instanceof SealedValueError) return undefined;
    throw error;
  }
}

/** Returns the name of the key: a value with the current name need not be sealed anew after a key rotation. */
function idOf({ encryptedDekSourceType: type, keyId }: DekSource): string {
  return `${type}:${keyId}`;
}

function rfc3339(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}
