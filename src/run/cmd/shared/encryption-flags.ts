/** The flags of encryption at rest, with upstream's names. */
import type { Command } from "commander";
import { boolean } from "./flag-values.ts";

export interface EncryptionFlags {
  readonly encryptionProviderConfig?: string;
  readonly encryptionProviderConfigAutomaticReload: boolean;
}

export function addEncryptionFlags(command: Command): void {
  command
    .option(
      "--encryption-provider-config <file>",
      "how values are encrypted before they are stored: an EncryptionConfiguration (apiserver.config.k8s.io/v1)",
    )
    .option(
      "--encryption-provider-config-automatic-reload [boolean]",
      "read the file again when it changes; looked at each minute",
      boolean,
      false,
    );
}
