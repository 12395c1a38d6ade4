/**
 * `--cert-dir`: the serving certificate of an API server that was given no other: `apiserver.crt` and `apiserver.key`
 * of the directory, made there when neither is there. An authority that is not kept signs it, and stands behind it
 * in the file, for clients to trust.
 *
 * Source: k8s.io/apiserver pkg/server/options/serving.go (MaybeDefaultWithSelfSignedCerts), 1.36.
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type IssuedCertificate, makeAuthority, makeServerCertificate } from "#auth/pki.ts";
import type { Clock } from "#platform/clock.ts";
import type { Random } from "#platform/random.ts";
import { readOperatorFile } from "../shared/operator-file.ts";
import { UsageError } from "../shared/usage-error.ts";

interface CertDirDeps {
  readonly clock: Clock;
  readonly random: Random;
}

const pairName = "apiserver";
/** Validity period of the certificate: upstream's 365 days. */
const lifetimeMs = 365 * 86_400_000;
const backdateMs = 3_600_000;

/** @throws UsageError */
export function certDirPair(
  deps: CertDirDeps,
  directory: string,
  hosts: readonly string[],
): IssuedCertificate {
  const [certFile, keyFile] = [".crt", ".key"].map((end) => join(directory, pairName + end));
  if (certFile === undefined || keyFile === undefined) throw new Error("two names are two files");
  const [hasCert, hasKey] = [existsSync(certFile), existsSync(keyFile)];
  if (hasCert !== hasKey)
    throw new UsageError(
      `--cert-dir: error reading ${hasCert ? keyFile : certFile}, certificate and key must be supplied as a pair`,
    );
  if (hasCert) return readPair(certFile, keyFile);
  const made = selfSigned(deps, hosts);
  writePair(directory, { certFile, keyFile }, made);
  return made;
}

function readPair(certFile: string, keyFile: string): IssuedCertificate {
  const pair = { certificate: readOperatorFile(certFile), privateKey: readOperatorFile(keyFile) };
  let matches: boolean;
  try {
    const key = createPrivateKey(pair.privateKey);
    matches = new X509Certificate(pair.certificate).checkPrivateKey(key);
  } catch (cause) {
    const why = (cause as Error).message;
    throw new UsageError(`--cert-dir: ${certFile} or ${keyFile}: ${why}`, { cause });
  }
  if (matches) return pair;
  throw new UsageError(`--cert-dir: ${keyFile} does not belong to ${certFile}`);
}

function selfSigned({ clock, random }: CertDirDeps, hosts: readonly string[]): IssuedCertificate {
  const nowMs = clock.nowMs();
  const validity = { notBeforeMs: nowMs - backdateMs, notAfterMs: nowMs + lifetimeMs };
  const name = `${hosts[0] ?? "localhost"}-ca@${Math.floor(nowMs / 1_000)}`;
  const authority = makeAuthority(name, { validity, serial: random.bytes(16) });
  const leaf = { validity, serial: random.bytes(16) };
  const pair = makeServerCertificate(authority, "kube-apiserver", hosts, leaf);
  return { ...pair, certificate: pair.certificate + authority.certificate };
}

function writePair(
  directory: string,
  { certFile, keyFile }: { readonly certFile: string; readonly keyFile: string },
  { certificate, privateKey }: IssuedCertificate,
): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o755 });
    writeFileSync(keyFile, privateKey, { mode: 0o600, flag: "wx" });
    writeFileSync(certFile, certificate, { mode: 0o644, flag: "wx" });
  } catch (cause) {
    throw new UsageError(`--cert-dir ${directory}: ${(cause as Error).message}`, { cause });
  }
}
