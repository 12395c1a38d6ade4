/** The cluster's signer and root CA of `up`, from the operator's files or the data directory. */
import { X509Certificate } from "node:crypto";
import { SigningError } from "#auth/certificate-signing.ts";
import { readSigningFiles, type SigningFiles } from "#auth/cluster-signer.ts";
import type { IssuedCertificate } from "#auth/pki.ts";
import { readOperatorFile } from "./operator-file.ts";
import { must } from "#base/assert.ts";
import { UsageError } from "./usage-error.ts";

export interface SigningFlags {
  readonly clusterSigningCertFile?: string;
  readonly clusterSigningKeyFile?: string;
  readonly clusterSigningKubeletServingCertFile?: string;
  readonly clusterSigningKubeletServingKeyFile?: string;
  readonly clusterSigningKubeletClientCertFile?: string;
  readonly clusterSigningKubeletClientKeyFile?: string;
  readonly clusterSigningKubeApiserverClientCertFile?: string;
  readonly clusterSigningKubeApiserverClientKeyFile?: string;
  readonly clusterSigningLegacyUnknownCertFile?: string;
  readonly clusterSigningLegacyUnknownKeyFile?: string;
  /** Maximum lifetime of certificates, in milliseconds. */
  readonly clusterSigningDuration: number;
  readonly rootCaFile?: string;
}

interface PlaneSigning {
  /** Returns the CA of a signer. It reads the files again at each call. Absent: the data directory's CA. */
  readonly signingAuthority?: (signer: string) => IssuedCertificate;
  /** Signers that sign. If only some have files, only these sign. */
  readonly signers?: ReadonlySet<string>;
  /** Maximum lifetime of a certificate. */
  readonly signingLifetimeMs: number;
  /** Root CA in PEM. Absent: the data directory's CA. */
  readonly rootCa?: string;
}

/** Reads the flags. Throws UsageError for an unusable file, so that the start reports it and not the first node. */
export function signingOf(flags: SigningFlags): PlaneSigning {
  const { rootCaFile } = flags;
  return {
    signingLifetimeMs: flags.clusterSigningDuration,
    ...signersOf(flags),
    ...(rootCaFile === undefined ? {} : { rootCa: rootCaOf(rootCaFile) }),
  };
}

function signersOf(flags: SigningFlags): Pick<PlaneSigning, "signingAuthority" | "signers"> {
  const files = filePair("", flags.clusterSigningCertFile, flags.clusterSigningKeyFile);
  const own = ownFiles(flags);
  for (const pair of [...own.values(), ...(files === undefined ? [] : [files])]) checkFiles(pair);
  if (own.size === 0) {
    return files === undefined ? {} : { signingAuthority: () => readSigningFiles(files) };
  }
  if (files !== undefined) {
    throw new UsageError(
      "cannot specify --cluster-signing-{cert,key}-file and other --cluster-signing-*-file flags at the same time",
    );
  }
  const signingAuthority = (signer: string): IssuedCertificate =>
    readSigningFiles(must(own.get(signer), "a signer that is served has files"));
  return { signingAuthority, signers: new Set(own.keys()) };
}

/** By signer: its files. */
function ownFiles(flags: SigningFlags): ReadonlyMap<string, SigningFiles> {
  const given = [
    [
      "kubelet-serving",
      "kubelet-serving",
      flags.clusterSigningKubeletServingCertFile,
      flags.clusterSigningKubeletServingKeyFile,
    ],
    [
      "kube-apiserver-client-kubelet",
      "kubelet-client",
      flags.clusterSigningKubeletClientCertFile,
      flags.clusterSigningKubeletClientKeyFile,
    ],
    [
      "kube-apiserver-client",
      "kube-apiserver-client",
      flags.clusterSigningKubeApiserverClientCertFile,
      flags.clusterSigningKubeApiserverClientKeyFile,
    ],
    [
      "legacy-unknown",
      "legacy-unknown",
      flags.clusterSigningLegacyUnknownCertFile,
      flags.clusterSigningLegacyUnknownKeyFile,
    ],
  ] as const;
  const own = new Map<string, SigningFiles>();
  for (const [signer, flag, certificateFile, keyFile] of given) {
    const pair = filePair(`${flag}-`, certificateFile, keyFile);
    if (pair !== undefined) own.set(`kubernetes.io/${signer}`, pair);
  }
  return own;
}

function filePair(
  flag: string,
  certificateFile: string | undefined,
  keyFile: string | undefined,
): SigningFiles | undefined {
  if (certificateFile === undefined && keyFile === undefined) return undefined;
  if (certificateFile !== undefined && keyFile !== undefined) return { certificateFile, keyFile };
  const both = `--cluster-signing-${flag}cert-file and --cluster-signing-${flag}key-file`;
  throw new UsageError(`${both} come together: give both or neither`);
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
