/**
 * The cluster's signer: reads certificate requests and signs them with an authority that may be renewed while the
 * process runs.
 *
 * Holds  the authority is read at each signature, so a renewed pair of files is used at once. A half-written pair
 *        throws, and the caller tries again. The private key is in no message and no log line.
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Clock } from "#platform/clock.ts";
import type { Random } from "#platform/random.ts";
import { readCertificateRequest } from "./certificate-request.ts";
import { signRequest, SigningError } from "./certificate-signing.ts";
import type { IssuedCertificate } from "./pki.ts";

interface RequestNames {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames: number;
  readonly emails: number;
  readonly addresses: number;
  readonly uris: number;
}

interface ClusterSignerDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** Returns the authority of a signer. Throws SigningError if it has none at present. */
  readonly authority: (signer: string) => IssuedCertificate;
  /** Signers that have an authority; absent: all. */
  readonly signers?: ReadonlySet<string>;
}

interface SignatureOrder {
  readonly signer: string;
  readonly usages: readonly string[];
  readonly ttlMs: number;
}

export class ClusterSigner {
  readonly #deps: ClusterSignerDeps;

  constructor(deps: ClusterSignerDeps) {
    this.#deps = deps;
  }

  /** Returns the names that a request asks for, or why it cannot be read. `request` is PEM in base64. */
  readRequest(request: string): RequestNames | { readonly fault: string } {
    const result = readCertificateRequest(request);
    if (result.kind === "unreadable") return { fault: result.fault };
    const { commonName, organizations, alternatives } = result.facts;
    return {
      commonName,
      organizations,
      dnsNames: alternatives.dns.length,
      emails: alternatives.emails.length,
      addresses: alternatives.addresses.length,
      uris: alternatives.uris.length,
    };
  }

  serves(signer: string): boolean {
    return this.#deps.signers?.has(signer) ?? true;
  }

  /** Returns the certificate as PEM. Throws SigningError. */
  sign(request: string, { signer, usages, ttlMs }: SignatureOrder): string {
    const result = readCertificateRequest(request);
    if (result.kind === "unreadable") throw new SigningError(result.fault);
    const fault = result.facts.signatureFault();
    if (fault !== undefined) {
      throw new SigningError(`unable to verify certificate request signature: ${fault}`);
    }
    const { authority, clock, random } = this.#deps;
    const serial = random.bytes(16);
    const order = { usages, ttlMs, nowMs: clock.nowMs(), serial };
    return signRequest(authority(signer), result.facts, order);
  }

  /** Returns when the first certificate of a PEM text ends. Undefined: there is no readable certificate. */
  endMs(certificate: string): number | undefined {
    try {
      return new X509Certificate(certificate).validToDate.getTime();
    } catch {
      return undefined;
    }
  }
}

export interface SigningFiles {
  readonly certificateFile: string;
  readonly keyFile: string;
}

/** Reads certificate and key from their files. Throws SigningError, which names the file and its fault. */
export function readSigningFiles({ certificateFile, keyFile }: SigningFiles): IssuedCertificate {
  const certificate = readText("cert", certificateFile);
  const privateKey = readText("key", keyFile);
  const found = certificate.match(/-----BEGIN CERTIFICATE-----/g)?.length ?? 0;
  if (found !== 1) {
    const what = `expected 1 certificate, found ${found}`;
    throw new SigningError(`error reading CA cert file "${certificateFile}": ${what}`);
  }
  checkPair({ certificateFile, keyFile }, certificate, privateKey);
  return { certificate, privateKey };
}

function readText(kind: "cert" | "key", file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const { message } = error as Error;
    throw new SigningError(`error reading CA ${kind} file "${file}": ${message}`);
  }
}

/** Checks that the pair is usable. Errors never quote node:crypto, because its message may contain a part of the key. */
function checkPair(files: SigningFiles, certificate: string, privateKey: string): void {
  const { certificateFile, keyFile } = files;
  const parsed = attempt(() => new X509Certificate(certificate));
  if (parsed === undefined) {
    throw new SigningError(
      `error reading CA cert file "${certificateFile}": no certificate in PEM`,
    );
  }
  if (!parsed.ca) {
    throw new SigningError(`error reading CA cert file "${certificateFile}": not an authority`);
  }
  const key = attempt(() => createPrivateKey(privateKey));
  if (key === undefined) {
    throw new SigningError(`error reading CA key file "${keyFile}": no private key in PEM`);
  }
  if (!parsed.checkPrivateKey(key)) {
    throw new SigningError(
      `error reading CA key file "${keyFile}": it does not belong to "${certificateFile}"`,
    );
  }
}

function attempt<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}
