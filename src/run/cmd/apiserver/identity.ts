/**
 * Whose certificates an API server shows and trusts, and what signs service account tokens: files under
 * kube-apiserver's flags, or the data directory's own.
 */
import { createPrivateKey, createPublicKey, X509Certificate } from "node:crypto";
import { verifyKey } from "#auth/jwt.ts";
import type { Pki } from "#auth/pki-files.ts";
import type { IssuedCertificate } from "#auth/pki.ts";
import { readOperatorFile } from "../shared/operator-file.ts";
import type { TokenKeyFiles } from "../plane/access.ts";
import type { PlaneOptions } from "../plane/options.ts";
import type { ServedIdentity, ServingFiles } from "../plane/authentication/serving-files.ts";
import { UsageError } from "../shared/usage-error.ts";

export interface IdentityFlags {
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
  /** Directory of the self-signed serving pair. Not used where a certificate file and a key file are given. */
  readonly certDir?: string;
  readonly clientCaFile?: string;
  readonly serviceAccountKeyFile: readonly string[];
  readonly serviceAccountSigningKeyFile?: string;
  /** Accepted issuers of service account tokens. The first one is written into new tokens. */
  readonly serviceAccountIssuer: readonly string[];
  readonly serviceAccountJwksUri?: string;
}

interface Identity {
  /** Serving pair from the flags. Absent, as for the key pair below: the data directory's own is used. */
  readonly server?: IssuedCertificate;
  readonly serviceAccount?: Pki["serviceAccount"];
  readonly options: Pick<PlaneOptions, "clientCa" | "issuer" | "olderIssuers" | "keysUrl">;
  /** Whether the serving pair and the client CA are the data directory's own, so that kubeconfigs can be made of them. */
  readonly isOwn: boolean;
}

/** Reads the identity that the flags name. Throws UsageError that names the flag. */
export function identityOf(flags: IdentityFlags): Identity {
  const { tlsCertFile: cert, tlsPrivateKeyFile: key, clientCaFile, serviceAccountIssuer } = flags;
  if ((cert === undefined) !== (key === undefined)) {
    throw new UsageError("--tls-cert-file and --tls-private-key-file go together");
  }
  const server = cert === undefined || key === undefined ? undefined : serverPair(cert, key);
  const serviceAccount = tokenKeys(flags);
  const clientCa = clientCaFile === undefined ? undefined : authorities(clientCaFile);
  return {
    ...(server === undefined ? {} : { server }),
    ...(serviceAccount === undefined ? {} : { serviceAccount }),
    options: {
      ...(clientCa === undefined ? {} : { clientCa }),
      ...issuers(serviceAccountIssuer),
      ...keysUrl(flags),
    },
    isOwn: server === undefined && flags.certDir === undefined && clientCa === undefined,
  };
}

/**
 * Returns the certificate files with a function that reads them again after a change. `proxyCaFile`: CA of front
 * proxies. Undefined: the flags name no file.
 */
export function servingFilesOf(
  flags: IdentityFlags,
  first: Identity,
  proxyCaFile: string | undefined,
): ServingFiles | undefined {
  const { tlsCertFile: cert, tlsPrivateKeyFile: key, clientCaFile } = flags;
  const given = [cert, key, clientCaFile, proxyCaFile];
  const paths = given.filter((path) => path !== undefined);
  if (paths.length === 0) return undefined;
  const read = (): ServedIdentity => ({
    ...(cert === undefined || key === undefined ? {} : { server: serverPair(cert, key) }),
    ...(clientCaFile === undefined ? {} : { clientCa: authorities(clientCaFile) }),
    ...(proxyCaFile === undefined ? {} : { proxyCa: authorities(proxyCaFile) }),
  });
  const { server } = first;
  return { paths, first: server === undefined ? {} : { server }, read };
}

/** Returns the token key files with a function that reads them again after a change. Undefined: the flags name no file. */
export function tokenKeyFilesOf(
  { serviceAccountKeyFile: paths }: IdentityFlags,
  { serviceAccount }: Identity,
): TokenKeyFiles | undefined {
  if (paths.length === 0) return undefined;
  const read = (): readonly string[] => {
    const older = checkingKeys(paths, serviceAccount?.publicKey);
    // A key that cannot check any token is refused before it is taken into use.
    older.forEach(verifyKey);
    return older;
  };
  return { paths, read };
}

export function withFiles(own: Pki, { server, serviceAccount }: Identity): Pki {
  return {
    ...own,
    ...(server === undefined ? {} : { server }),
    ...(serviceAccount === undefined ? {} : { serviceAccount }),
  };
}

function serverPair(certFile: string, keyFile: string): IssuedCertificate {
  const pair = { certificate: readOperatorFile(certFile), privateKey: readOperatorFile(keyFile) };
  const certificate = pem("--tls-cert-file", certFile, () => new X509Certificate(pair.certificate));
  const key = pem("--tls-private-key-file", keyFile, () => createPrivateKey(pair.privateKey));
  if (certificate.checkPrivateKey(key)) return pair;
  throw new UsageError(
    `--tls-private-key-file ${keyFile} does not belong to --tls-cert-file ${certFile}`,
  );
}

function authorities(path: string): string {
  const text = readOperatorFile(path);
  pem("--client-ca-file", path, () => new X509Certificate(text));
  return text;
}

/** kube-apiserver's rule: without key files the signing key's public half checks tokens. */
function tokenKeys(flags: IdentityFlags): Pki["serviceAccount"] | undefined {
  const { serviceAccountSigningKeyFile: path, serviceAccountKeyFile: others } = flags;
  if (path === undefined) {
    if (others.length === 0) return undefined;
    throw new UsageError("--service-account-key-file goes with --service-account-signing-key-file");
  }
  const flag = "--service-account-signing-key-file";
  const privateKey = readOperatorFile(path);
  pem(flag, path, () => createPrivateKey(privateKey));
  const publicKey = publicPem(flag, path, privateKey);
  return { privateKey, publicKey, olderPublicKeys: checkingKeys(others, publicKey) };
}

/** Returns the public keys of the files, each key once and without the signing key's. */
function checkingKeys(files: readonly string[], signingKey: string | undefined): readonly string[] {
  const known = files.flatMap((file) =>
    keyBlocks(readOperatorFile(file)).map((block) =>
      publicPem("--service-account-key-file", file, block),
    ),
  );
  return [...new Set(known)].filter((one) => one !== signingKey);
}

function keyBlocks(text: string): readonly string[] {
  return text.match(/-----BEGIN [^-]+-----[^-]+-----END [^-]+-----/g) ?? [text];
}

/** Returns the public key of a public key, a private key or a certificate, as kube-apiserver accepts them. */
function publicPem(flag: string, path: string, text: string): string {
  const key = pem(flag, path, () => createPublicKey(text));
  return key.export({ type: "spki", format: "pem" }).toString();
}

function pem<T>(flag: string, path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new UsageError(`${flag} ${path}: ${(error as Error).message}`, { cause: error });
  }
}

function issuers(given: readonly string[]): Pick<PlaneOptions, "issuer" | "olderIssuers"> {
  const [first, ...olderIssuers] = given.map(issuer);
  const repeated = given.find((one, at) => given.indexOf(one) !== at);
  if (repeated !== undefined) {
    throw new UsageError(`service-account-issuer ${JSON.stringify(repeated)} is already specified`);
  }
  return first === undefined ? {} : { issuer: first, olderIssuers };
}

/** Upstream's rule: an issuer with a colon must be a URL. */
function issuer(text: string): string {
  if (text === "") throw new UsageError("--service-account-issuer must not be empty");
  if (text.includes(":") && !URL.canParse(text)) {
    throw new UsageError(`--service-account-issuer ${text}: contains a ':' but is no URL`);
  }
  return text;
}

/** The rule and the error messages are upstream's. */
function keysUrl({ serviceAccountJwksUri: text }: IdentityFlags): Pick<PlaneOptions, "keysUrl"> {
  if (text === undefined || text === "") return {};
  const url = URL.parse(text);
  if (url === null) throw new UsageError(`service-account-jwks-uri must be a valid URL: ${text}`);
  if (url.protocol !== "https:")
    throw new UsageError(`service-account-jwks-uri requires https scheme, parsed as: ${text}`);
  return { keysUrl: text };
}
