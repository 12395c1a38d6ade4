/** Encryption at rest from its flags: the configuration, read again as the file changes. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import {
  ConfigurationError,
  type EncryptionConfiguration,
  readConfiguration,
} from "#encryption/configuration.ts";
import { Transformers } from "#encryption/transformers.ts";
import type { Timer } from "#platform/clock.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import type { EncryptionFlags } from "./encryption-flags.ts";
import type { Host } from "../shared/host.ts";
import { readOperatorFile } from "../shared/operator-file.ts";
import type { Parts } from "../shared/parts.ts";
import { UsageError } from "../shared/usage-error.ts";

type ReloadHost = Pick<Host, "clock" | "log">;

/** Upstream's. */
const lookEveryMs = 60_000;

export interface Encryption {
  readonly transformers: Transformers;
  /** For metrics: files that were read again, and files that could not be. */
  readonly reloads: { ok: number; failed: number };
}

/** Undefined: values are stored as they are. @throws UsageError */
export async function openEncryption(
  host: ReloadHost,
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
  const encryption = {
    transformers: new Transformers(configurationOf(path, text)),
    reloads: { ok: 0, failed: 0 },
  };
  if (!reloads) return encryption;
  const reload = new Reload(host, path, encryption, text);
  await parts.open("encryption-reload", () => reload, { close: (one) => one.stop() });
  return encryption;
}

/** @throws UsageError */
function configurationOf(path: string, text: string): EncryptionConfiguration {
  try {
    return readConfiguration(parse(text));
  } catch (error) {
    // The parser's text may hold a line of the file, and so a key.
    const why = error instanceof ConfigurationError ? error.message : "it is no YAML";
    throw new UsageError(`--encryption-provider-config ${path}: ${why}`);
  }
}

/** A file that is half written, or wrong, changes nothing: it is looked at again after the next minute. */
class Reload {
  readonly #host: ReloadHost;
  readonly #path: string;
  readonly #encryption: Encryption;
  #hash: string;
  #timer: Timer;

  constructor(host: ReloadHost, path: string, encryption: Encryption, text: string) {
    this.#host = host;
    this.#path = path;
    this.#encryption = encryption;
    this.#hash = hashOf(text);
    this.#timer = this.#arm();
  }

  stop(): void {
    this.#timer.cancel();
  }

  #arm(): Timer {
    return this.#host.clock.after("encryption.reload", lookEveryMs, () => {
      this.#look();
      this.#timer = this.#arm();
    });
  }

  #look(): void {
    const path = this.#path;
    try {
      const text = readFileSync(path, "utf8");
      const hash = hashOf(text);
      if (hash === this.#hash) return;
      this.#encryption.transformers.replace(configurationOf(path, text));
      this.#hash = hash;
      this.#encryption.reloads.ok++;
      this.#host.log.info("encryption configuration was read again", { path });
    } catch (error) {
      this.#encryption.reloads.failed++;
      const why = (error as Error).message;
      this.#host.log.error("encryption configuration stays as it was", { path, error: why });
    }
  }
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

export function describeEncryption(
  metrics: MetricSet,
  { transformers, reloads }: Encryption,
): void {
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
