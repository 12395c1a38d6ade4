/**
 * Files of a listener that an operator replaces while the process runs: its certificate, and the authorities of clients
 * and front proxies.
 *
 * Holds  a set of files that cannot be used as it is now (half written, a key of another certificate) is not taken.
 * Time   files are looked at every `lookEveryMs`; upstream takes from a second to a minute.
 */
import type { IssuedCertificate } from "#auth/pki.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { ListenIdentity } from "#platform/node/http/http.ts";
import { renewedFiles } from "../renewed-files.ts";

/** Certificates that come from files. Absent members do not. */
export interface ServedIdentity {
  readonly server?: IssuedCertificate;
  /** CA of client certificates in PEM. */
  readonly clientCa?: string;
  readonly proxyCa?: string;
}

export interface ServingFiles {
  readonly paths: readonly string[];
  readonly first: ServedIdentity;
  /** Throws when the files cannot be used. */
  readonly read: () => ServedIdentity;
}

const lookEveryMs = 5_000;

interface RenewalDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly renew: (identity: ListenIdentity) => void;
  readonly identityOf: (served: ServedIdentity) => ListenIdentity;
}

/** Watches the files. @returns a function that stops this. */
export function renewServing(deps: RenewalDeps, files: ServingFiles): () => void {
  const { clock, log, renew, identityOf } = deps;
  const current = renewedFiles(clock, files);
  let shown = files.first;
  const look = (): void => {
    const next = current();
    if (next !== shown) {
      shown = next;
      renew(identityOf(next));
      log.info("certificates and authorities of the listener were read again");
    }
    timer = clock.after("auth.rotate", lookEveryMs, look);
  };
  let timer = clock.after("auth.rotate", lookEveryMs, look);
  return () => timer.cancel();
}
