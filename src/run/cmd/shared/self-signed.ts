/** A serving certificate whose CA is discarded at once, for ports whose clients do not verify it. */
import { makeAuthority, makeServerCertificate } from "#auth/pki.ts";
import type { Host } from "./host.ts";

const certificateDays = 365;

/** Returns a pair in PEM for loopback and `address`. */
export function selfSignedFor(
  { clock, random }: Pick<Host, "clock" | "random">,
  address: string,
): { readonly cert: string; readonly key: string } {
  const now = clock.nowMs();
  const validity = { notBeforeMs: now - 3_600_000, notAfterMs: now + certificateDays * 86_400_000 };
  const issue = () => ({ validity, serial: random.bytes(16) });
  const authority = makeAuthority("pilothouse-self-signed", issue());
  const hosts = ["localhost", "127.0.0.1", "::1", address];
  const made = makeServerCertificate(authority, "localhost", [...new Set(hosts)], issue());
  return { cert: made.certificate, key: made.privateKey };
}
