/**
 * Certificates for tests of trust, valid until 2126: `root` signed `intermediate`, which signed all pairs but
 * `selfSigned`, `forgedForAny` (by a stranger of its name) and `signedByLeaf` (by `signer`, no authority).
 */
import { readFileSync } from "node:fs";

interface Pair {
  readonly certificate: string;
  readonly privateKey: string;
}

type PairName =
  | "leaf"
  | "expired"
  /** A certificate without names. */
  | "otherHost"
  | "forServers"
  | "forClients"
  /** A certificate with extended key usage "any" and the key usage of an authority. */
  | "forAny"
  | "forOthers"
  | "forAnyExpired"
  | "selfSigned"
  | "forgedForAny"
  | "signedByLeaf";

export const chain = JSON.parse(
  readFileSync(new URL("testdata/chain.json", import.meta.url), "utf8"),
) as Readonly<Record<PairName, Pair>> &
  Readonly<Record<"root" | "intermediate" | "stranger" | "signer", string>>;
