/** Encryption at rest from its flags: the configuration, read again after each change of the file, and its KMS plugins. */
import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { identityName } from "#apiserver/server-identity.ts";
import {
  ConfigurationError,
  type EncryptionConfiguration,
  kmsSettingsOf,
  readConfiguration,
} from "#encryption/configuration.ts";
import type { KmsPlugins } from "#encryption/kms-plugins.ts";
import type { KmsRecords } from "#encryption/kms-records.ts";
import { Transformers } from "#encryption/transformers.ts";
import { sleep, type Timer } from "#platform/clock.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import type { HealthCheck } from "#server/health.ts";
import type { EncryptionFlags } from "./encryption-flags.ts";
import { describeKms } from "./kms-metrics.ts";
import type { Host } from "./host.ts";
import { readOperatorFile } from "./operator-file.ts";
import type { Parts } from "./parts.ts";
import { UsageError } from "./usage-error.ts";

type EncryptionHost = Pick<Host, "clock" | "log">;

/** Upstream's interval between two checks of the file. */
const lookEveryMs = 60_000;
/** Upstream's minimum time in which the plugins of a new file must become healthy, and the interval of the checks in it. */
const wellWithinMsLeast = 10_000;
const askEveryMs = 100;

interface Kms {
  /** KMS plugins. Undefined: the configuration names none. */
  plugins: KmsPlugins | undefined;
  /** Records of the plugins' calls. Undefined until the first plugin. */
  records: KmsRecords | undefined;
}

export interface Encryption {
  readonly transformers: Transformers;
  /** Numbers of successful and failed reloads of the file, for metrics. */
  readonly reloads: { ok: number; failed: number };
  /** Health checks. As upstream, healthz and readyz show them and livez does not. */
  readonly checks: readonly HealthCheck[];
  readonly kms: Readonly<Kms>;
  /** Adds the metrics of plugins, now or when the first plugin is loaded. */
  describe(metrics: MetricSet): void;
}

/**
 * Undefined: values are stored as they are. A plugin that is away does not end the start.
 * @throws UsageError
 */
export async function openEncryption(
  host: EncryptionHost,
  flags: EncryptionFlags,
  parts: Parts,
): Promise<Encryption | undefined> {
  const { encryptionProviderConfig: path, encryptionProviderConfigAutomaticReload: reloads } =
    flags;
  if (path === undefined) {
    if (!reloads) return undefined;
    throw new UsageError(
      "--encryption-provider-config-automatic-reload must be set with --encryption-provider-config",
    );
  }
  const text = readOperatorFile(path);
  const configuration = configurationOf(path, text);
  const own = new OwnEncryption(host, path, hashOf(text));
  await parts.open("encryption", () => own.start(configuration, reloads, parts.stopping), {
    close: () => own.close(),
  });
  return own;
}

/** @throws UsageError */
function configurationOf(path: string, text: string): EncryptionConfiguration {
  try {
    return readConfiguration(parse(text));
  } catch (error) {
    // The parser's error text may contain a line of the file, and so a key.
    const why = error instanceof ConfigurationError ? error.message : "it is no YAML";
    throw new UsageError(`--encryption-provider-config ${path}: ${why}`);
  }
}

/**
 * A file that is half written, or wrong, or whose plugins are not well, changes nothing: it is looked at again after the
 * next minute.
 */
class OwnEncryption implements Encryption {
  readonly reloads = { ok: 0, failed: 0 };
  readonly kms: Kms = { plugins: undefined, records: undefined };
  readonly #host: EncryptionHost;
  readonly #path: string;
  readonly #closing = new AbortController();
  #transformers: Transformers | undefined;
  #metrics: MetricSet | undefined;
  #reloads = false;
  #hash: string;
  #timer: Timer | undefined;

  constructor(host: EncryptionHost, path: string, hash: string) {
    this.#host = host;
    this.#path = path;
    this.#hash = hash;
  }

  get transformers(): Transformers {
    if (this.#transformers === undefined) throw new Error("encryption was not started");
    return this.#transformers;
  }

  get checks(): readonly HealthCheck[] {
    if (!this.#reloads && this.kms.plugins === undefined) return [];
    return [{ name: "kms-providers", check: () => this.kms.plugins?.fault() }];
  }

  async start(
    configuration: EncryptionConfiguration,
    reloads: boolean,
    stopping: AbortSignal | undefined,
  ): Promise<void> {
    // Closing the plugins at a stop ends a start that waits for them.
    stopping?.addEventListener("abort", () => this.kms.plugins?.close(), { once: true });
    this.#reloads = reloads;
    this.kms.plugins = await this.#plugins(configuration);
    this.#transformers = new Transformers(configuration, this.kms.plugins?.ciphers);
    if (reloads) this.#arm();
  }

  describe(metrics: MetricSet): void {
    this.#metrics = metrics;
    if (this.kms.records !== undefined) describeKms(metrics, this.kms);
  }

  close(): void {
    this.#closing.abort();
    this.#timer?.cancel();
    this.kms.plugins?.close();
  }

  /** The code of plugins is imported with the first one, because most servers have none. */
  async #plugins(configuration: EncryptionConfiguration): Promise<KmsPlugins | undefined> {
    const settings = kmsSettingsOf(configuration);
    if (settings.length === 0) return undefined;
    const [{ KmsPlugins }, { KmsRecords }] = await Promise.all([
      import("#encryption/kms-plugins.ts"),
      import("#encryption/kms-records.ts"),
    ]);
    const { clock, log } = this.#host;
    if (this.kms.records === undefined) {
      this.kms.records = new KmsRecords(() => clock.nowMs(), identityName(hostname()));
      if (this.#metrics !== undefined) describeKms(this.#metrics, this.kms);
    }
    return KmsPlugins.open({ clock, log, records: this.kms.records }, settings, this.kms.plugins);
  }

  #arm(): void {
    if (this.#closing.signal.aborted) return;
    this.#timer = this.#host.clock.after("encryption.reload", lookEveryMs, () => this.#look());
  }

  #look(): void {
    try {
      const text = readFileSync(this.#path, "utf8");
      const hash = hashOf(text);
      if (hash === this.#hash) return this.#arm();
      const next = configurationOf(this.#path, text);
      if (kmsSettingsOf(next).length > 0) {
        // `#takeWithPlugins` never rejects.
        void this.#takeWithPlugins(next, hash).then(() => this.#arm());
        return;
      }
      this.#take(next, hash, undefined);
    } catch (error) {
      this.#refuse(error);
    }
    this.#arm();
  }

  async #takeWithPlugins(next: EncryptionConfiguration, hash: string): Promise<void> {
    try {
      const plugins = await this.#plugins(next);
      const fault = plugins === undefined ? undefined : await this.#faultOf(plugins);
      if (fault === undefined) return this.#take(next, hash, plugins);
      plugins?.close();
      this.#refuse(new Error(`health check for new transformers failed: ${fault}`));
    } catch (error) {
      this.#refuse(error);
    }
  }

  /** Returns the remaining fault at the end of the time. */
  async #faultOf(plugins: KmsPlugins): Promise<string | undefined> {
    const { clock } = this.#host;
    const endMs = clock.monotonicMs() + Math.max(wellWithinMsLeast, plugins.graceMs);
    for (;;) {
      const fault = plugins.fault() === undefined ? undefined : await plugins.check();
      const isOver = this.#closing.signal.aborted || clock.monotonicMs() >= endMs;
      if (fault === undefined || isOver) return fault;
      await sleep(clock, "encryption.kms", askEveryMs, this.#closing.signal);
    }
  }

  #take(next: EncryptionConfiguration, hash: string, plugins: KmsPlugins | undefined): void {
    const before = this.kms.plugins;
    this.transformers.replace(next, plugins?.ciphers);
    this.kms.plugins = plugins;
    this.#hash = hash;
    this.reloads.ok++;
    this.#host.log.info("encryption configuration was read again", { path: this.#path });
    if (before === undefined) return;
    // Calls in flight on the old plugins may still end within the grace period.
    this.#host.clock.after("encryption.kms", before.graceMs, () => before.close());
    this.#closing.signal.addEventListener("abort", () => before.close(), { once: true });
  }

  #refuse(error: unknown): void {
    this.reloads.failed++;
    const why = (error as Error).message;
    this.#host.log.error("encryption configuration stays as it was", {
      path: this.#path,
      error: why,
    });
  }
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

export function describeEncryption(metrics: MetricSet, encryption: Encryption): void {
  const { transformers, reloads } = encryption;
  encryption.describe(metrics);
  const labels = ["resource", "status", "transformation_type", "transformer_prefix"];
  const help = "Total number of transformations.";
  const name = "apiserver_storage_transformation_operations_total";
  metrics.gaugeOf(name, help, labels, function* () {
    for (const { type, resource: of, prefix, isOk, count } of transformers.counts()) {
      const resource = of.group === "" ? of.resource : `${of.resource}.${of.group}`;
      yield [[resource, isOk ? "OK" : "Unknown", type, prefix], count] as const;
    }
  });
  const again = "Total number of reload successes and failures of encryption configuration.";
  const reloadName = "apiserver_encryption_config_controller_automatic_reloads_total";
  metrics.gaugeOf(reloadName, again, ["status"], function* () {
    yield [["success"], reloads.ok] as const;
    yield [["failure"], reloads.failed] as const;
  });
}
