/** The cluster's signer and root authority of `up`: files the operator named, or the data directory's own. */
import { X509Certificate } from "node:crypto";
import { SigningError } from "#auth/certificate-signing.ts";
import { readSigningFiles, type SigningFiles } from "#auth/cluster-signer.ts";
import type { IssuedCertificate } from "#auth/pki.ts";
import { readOperatorFile } from "./operator-file.ts";
import { UsageError } from "./usage-error.ts";

export interface SigningFlags {
  readonly clusterSigningCertFile?: string;
  readonly clusterSigningKeyFile?: string;
  /** Milliseconds. */
  readonly clusterSigningDuration: number;
  readonly rootCaFile?: string;
}

interface PlaneSigning {
  /** Absent: the data directory's authority. Reads the files anew at each call. */
  readonly signingAuthority?: () => IssuedCertificate;
  /** The longest lifetime of a certificate. */
  readonly signingLifetimeMs: number;
  /** PEM; absent: the data directory's authority. */
  readonly rootCa?: string;
}

/** Throws UsageError where a file cannot be used: a bad one is said at the start, not at the first node. */
export function signingOf(flags: SigningFlags): PlaneSigning {
  const files = signingFiles(flags);
  if (files !== undefined) checkFiles(files);
  const { rootCaFile } = flags;
  return {
    signingLifetimeMs: flags.clusterSigningDuration,
    ...(files === undefined ? {} : { signingAuthority: () => readSigningFiles(files) }),
    ...(rootCaFile === undefined ? {} : { rootCa: rootCaOf(rootCaFile) }),
  };
}

function signingFiles(flags: SigningFlags): SigningFiles | undefined {
  const { clusterSigningCertFile: certificateFile, clusterSigningKeyFile: keyFile } = flags;
  if (certificateFile === undefined && keyFile === undefined) return undefined;
  if (certificateFile === undefined || keyFile === undefined) {
    throw new UsageError(
      "--cluster-signing-cert-file and --cluster-signing-key-file come together: give both or neither",
    );
  }
  return { certificateFile, keyFile };
}

function checkFiles(files: SigningFiles): void {
  try {
    readSigningFiles(files);
  } catch (error) {
    if (error instanceof SigningError) throw new UsageError(error.message, { cause: error });
    throw error;
  }
}

function rootCaOf(file: string): string {
  const text = readOperatorFile(file);
  try {
    new X509Certificate(text);
    return text;
  } catch (error) {
    throw new UsageError(`--root-ca-file ${file}: no certificate in PEM`, { cause: error });
  }
}
