/** The KMS plugins of one configuration, which are opened and closed together. */
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { KmsSettings } from "./configuration.ts";
import { KmsClient } from "./kms-client.ts";
import { KmsProvider } from "./kms-provider.ts";
import type { KmsRecords } from "./kms-records.ts";
import type { KmsCiphers } from "./transformers.ts";

interface KmsPluginsDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly records: KmsRecords;
}

export class KmsPlugins {
  readonly #providers: readonly KmsProvider[];
  /** Time for calls that still run when other plugins take over. As upstream, twice the timeouts of all plugins. */
  readonly graceMs: number;

  private constructor(providers: readonly KmsProvider[], graceMs: number) {
    this.#providers = providers;
    this.graceMs = graceMs;
  }

  /** Resolves when the status of each plugin has been requested once. `before`: the plugins that these replace. */
  static async open(
    deps: KmsPluginsDeps,
    settings: readonly KmsSettings[],
    before?: KmsPlugins,
  ): Promise<KmsPlugins> {
    const { clock, log, records } = deps;
    const providers = settings.map((one) => {
      const client = new KmsClient({ clock, observe: records.callsOf(one.name) }, one);
      const keys = before?.keysOf(one.name);
      return new KmsProvider({ clock, log, client, records }, one.name, keys);
    });
    await Promise.all(providers.map((provider) => provider.start()));
    const graceMs = 2 * settings.reduce((sum, { timeoutMs }) => sum + timeoutMs, 0);
    return new KmsPlugins(providers, graceMs);
  }

  get ciphers(): KmsCiphers {
    return new Map(this.#providers.map((provider) => [provider.name, provider]));
  }

  /** Returns what is wrong, in the form of upstream's health check `kms-providers`; undefined: nothing. */
  fault(): string | undefined {
    return together(this.#providers.map((provider) => provider.fault()));
  }

  /** Requests the status of each plugin now. */
  async check(): Promise<string | undefined> {
    return together(await Promise.all(this.#providers.map((provider) => provider.check())));
  }

  keysOf(provider: string): KmsProvider["keys"] | undefined {
    return this.#providers.find(({ name }) => name === provider)?.keys;
  }

  /** Sizes of the caches of keys, by provider. */
  sizes(): readonly (readonly [string, number])[] {
    return this.#providers.map(({ name, keys }) => [name, keys.size]);
  }

  close(): void {
    for (const provider of this.#providers) provider.close();
  }
}

function together(faults: readonly (string | undefined)[]): string | undefined {
  const texts = faults.flatMap((fault, at) =>
    fault === undefined ? [] : [`kms-provider-${at}: ${fault}`],
  );
  if (texts.length === 0) return undefined;
  return texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
}
