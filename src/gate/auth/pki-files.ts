/**
 * Manages the cluster's keys and certificates on disk: makes the missing ones, renews the expiring ones, and leaves the
 * others unchanged.
 *
 * Holds  authorities and the service-account pair are made once and never overwritten; a leaf is replaced only when it
 *        has expired or expires soon, or when its hosts changed. Private keys are 0600, the directory 0700. The public
 *        key of a new sa.key is added to sa.pub; the older ones stay. A file is whole or absent (written beside, then
 *        renamed). `renewReplicatedPki` replaces every leaf at each call.
 * Fails  with PkiError, one sentence that names the file and the remedy, rather than guess.
 * Layout ca.{crt,key} apiserver.{crt,key} front-proxy-ca.{crt,key} front-proxy-client.{crt,key}
 *        admin|scheduler|controller-manager.{crt,key} sa.{pub,key}: kubeadm's names where it has them. With several
 *        replicas: apiserver-N.{crt,key}, and a shared apiserver-kubelet-client.{crt,key}.
 */
import { createPrivateKey, createPublicKey, X509Certificate } from "node:crypto";
import * as fs from "node:fs";
import { isIPv6 } from "node:net";
import * as path from "node:path";
import type { Clock } from "#platform/clock.ts";
import type { Random } from "#platform/random.ts";
import { groups, kubeletClientName } from "./groups.ts";
import {
  certificateHosts,
  ipv6Bytes,
  makeAuthority,
  makeClientCertificate,
  makeKeyPair,
  makeServerCertificate,
} from "./pki.ts";
import type { IssuedCertificate, IssueOptions, KeyPair, SubjectName } from "./pki.ts";

export interface Pki {
  readonly authority: IssuedCertificate;
  readonly server: IssuedCertificate;
  /** Client certificate of kubernetes-admin in system:masters. */
  readonly admin: IssuedCertificate;
  readonly scheduler: IssuedCertificate;
  readonly controllerManager: IssuedCertificate;
  /** Authority that signs client certificates for aggregated API servers. Only these servers trust it. */
  readonly frontProxyAuthority: IssuedCertificate;
  readonly frontProxyClient: IssuedCertificate;
  readonly serviceAccount: TokenKeys;
  /** Names of the files that this call made or renewed, for one log line. */
  readonly written: readonly string[];
}

/** Files that replicas share, and one serving certificate for each replica. */
export interface ReplicatedPki extends Omit<Pki, "server"> {
  readonly servers: readonly IssuedCertificate[];
  /** Client certificate that replicas show to kubelets. */
  readonly kubeletClient: IssuedCertificate;
}

/** Key that signs service-account tokens, and keys that verify their signatures. */
interface TokenKeys extends KeyPair {
  /** PEM, newest first: public keys of earlier signing keys. Their tokens are valid as long as the keys are in the list. */
  readonly olderPublicKeys: readonly string[];
}

export interface PkiOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Names and addresses in addition to `standardHosts`. */
  readonly extraHosts: readonly string[];
  /** First address of the service range. */
  readonly serviceAddress: string;
}

/** A file of the directory cannot be used. The message is for the operator. */
export class PkiError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "PkiError";
  }
}

const dayMs = 86_400_000;
/** Lifetimes as in kubeadm: authorities ten years, leaf certificates one year. */
const authorityDays = 3650;
const leafDays = 365;
/** A leaf certificate with fewer days left is renewed at start. */
const renewDays = 30;
/** Certificates start earlier by this time, so that peers whose clocks are behind accept a new one. */
const backdateMs = 3_600_000;

function standardHosts(serviceAddress: string): readonly string[] {
  return [
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "127.0.0.1",
    "::1",
    serviceAddress,
  ];
}

/** Makes the missing files of `directory` and returns its contents. Synchronous, because it runs once, at start. */
export function ensurePki(directory: string, options: PkiOptions): Pki {
  const files = openPki(directory, { ...options, renewsLeaves: false });
  const { authority, ...shared } = sharedPki(files);
  return { authority, server: files.server("apiserver", authority, options.extraHosts), ...shared };
}

interface ReplicatedPkiOptions extends Omit<PkiOptions, "extraHosts"> {
  /** Names and addresses of each replica in addition to `standardHosts`. */
  readonly hosts: readonly (readonly string[])[];
}

/**
 * Like `ensurePki`, for several replicas of one cluster. Leaves are replaced, with new keys; authorities and the
 * service-account pair stay. An interrupted call must be repeated.
 */
export function renewReplicatedPki(
  directory: string,
  { hosts, ...options }: ReplicatedPkiOptions,
): ReplicatedPki {
  const files = openPki(directory, { ...options, renewsLeaves: true });
  const shared = sharedPki(files);
  return {
    ...shared,
    servers: hosts.map((own, at) => files.server(`apiserver-${at}`, shared.authority, own)),
    kubeletClient: files.client("apiserver-kubelet-client", shared.authority, {
      commonName: kubeletClientName,
      organizations: [],
    }),
  };
}

function openPki(directory: string, options: DirectoryOptions): PkiDirectory {
  fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
  return new PkiDirectory(directory, options);
}

function sharedPki(files: PkiDirectory): Omit<Pki, "server"> {
  const authority = files.authority("ca", "kubernetes");
  const frontProxyAuthority = files.authority("front-proxy-ca", "front-proxy-ca");
  const client = (file: string, commonName: string, ...organizations: string[]) =>
    files.client(file, authority, { commonName, organizations });
  return {
    authority,
    admin: client("admin", "kubernetes-admin", groups.masters),
    scheduler: client("scheduler", "system:kube-scheduler"),
    controllerManager: client("controller-manager", "system:kube-controller-manager"),
    frontProxyAuthority,
    frontProxyClient: files.client("front-proxy-client", frontProxyAuthority, {
      commonName: "front-proxy-client",
      organizations: [],
    }),
    serviceAccount: files.serviceAccount(),
    written: files.written,
  };
}

interface DirectoryOptions extends Omit<PkiOptions, "extraHosts"> {
  /** Whether leaf certificates are replaced in any case. */
  readonly renewsLeaves: boolean;
}

class PkiDirectory {
  readonly #directory: string;
  readonly #options: DirectoryOptions;
  readonly written: string[] = [];

  constructor(directory: string, options: DirectoryOptions) {
    this.#directory = directory;
    this.#options = options;
  }

  authority(name: string, commonName: string): IssuedCertificate {
    const found = this.#readPair(name);
    if (found === undefined) {
      return this.#writePair(name, makeAuthority(commonName, this.#issueOptions(authorityDays)));
    }
    const certificate = new X509Certificate(found.certificate);
    if (!certificate.ca || !/^CN=[^\n]+$/.test(certificate.subject)) {
      throw this.#error(`${name}.crt`, "is not an authority of ours: give another directory");
    }
    if (certificate.validToDate.getTime() <= this.#options.clock.nowMs()) {
      throw this.#error(
        `${name}.crt`,
        "has expired: remove the directory to start over with a new authority",
      );
    }
    return found;
  }

  server(
    name: string,
    authority: IssuedCertificate,
    extraHosts: readonly string[],
  ): IssuedCertificate {
    const standard = standardHosts(this.#options.serviceAddress);
    const hosts = [...new Set([...standard, ...extraHosts])];
    const same = (pem: string): boolean => sameHosts(certificateHosts(pem), hosts);
    return this.#leaf(name, authority, same, (issue) =>
      makeServerCertificate(authority, "kube-apiserver", hosts, issue),
    );
  }

  client(name: string, authority: IssuedCertificate, subject: SubjectName): IssuedCertificate {
    const keep = (): boolean => true;
    return this.#leaf(name, authority, keep, (issue) =>
      makeClientCertificate(authority, subject, issue),
    );
  }

  /** Returns the token keys. sa.key signs. sa.pub contains its public key first, then the public keys from before rotations. */
  serviceAccount(): TokenKeys {
    const privateKey = this.#read("sa.key");
    const published = this.#read("sa.pub");
    if (privateKey === undefined && published === undefined) {
      const made = makeKeyPair();
      this.#write("sa.key", made.privateKey, 0o600);
      this.#write("sa.pub", made.publicKey, 0o644);
      return { ...made, olderPublicKeys: [] };
    }
    if (privateKey === undefined) {
      throw this.#error("sa.key", "is missing beside sa.pub: put it back, or remove both");
    }
    const publicKey = this.#derivePublicKey(privateKey);
    const known = this.#publicKeys(published ?? "");
    const olderPublicKeys = known.filter((key) => key !== publicKey);
    // The public key follows from the private key, so a missing copy is added. No key is removed.
    if (known.length === olderPublicKeys.length) {
      this.#write("sa.pub", [publicKey, ...olderPublicKeys].join(""), 0o644);
    }
    return { privateKey, publicKey, olderPublicKeys };
  }

  #publicKeys(text: string): readonly string[] {
    const blocks = text.match(/-----BEGIN [^-]+-----[^-]+-----END [^-]+-----/g) ?? [];
    if (blocks.length === 0 && text.trim() !== "") {
      throw this.#error("sa.pub", "holds no public key in PEM: remove it to make it anew");
    }
    try {
      const spki = { type: "spki", format: "pem" } as const;
      return [...new Set(blocks.map((pem) => createPublicKey(pem).export(spki).toString()))];
    } catch (cause) {
      throw this.#error("sa.pub", "holds a block that is no public key: take it out", cause);
    }
  }

  #derivePublicKey(privateKey: string): string {
    try {
      return createPublicKey(privateKey).export({ type: "spki", format: "pem" }).toString();
    } catch (cause) {
      throw this.#error("sa.key", "is not a private key: remove it to make a new one", cause);
    }
  }

  #leaf(
    name: string,
    authority: IssuedCertificate,
    upToDate: (pem: string) => boolean,
    make: (options: IssueOptions) => IssuedCertificate,
  ): IssuedCertificate {
    const found = this.#options.renewsLeaves ? undefined : this.#readPair(name);
    if (found !== undefined) {
      this.#checkIssuedBy(name, found, authority);
      if (this.#lasts(found) && upToDate(found.certificate)) return found;
    }
    return this.#writePair(name, make(this.#issueOptions(leafDays)));
  }

  #checkIssuedBy(name: string, leaf: IssuedCertificate, authority: IssuedCertificate): void {
    const ca = new X509Certificate(authority.certificate);
    const certificate = new X509Certificate(leaf.certificate);
    if (!certificate.verify(ca.publicKey)) {
      throw this.#error(
        `${name}.crt`,
        `was not signed by the authority beside it: remove ${name}.crt and ${name}.key to renew them`,
      );
    }
  }

  #lasts(leaf: IssuedCertificate): boolean {
    const end = new X509Certificate(leaf.certificate).validToDate.getTime();
    return end - this.#options.clock.nowMs() >= renewDays * dayMs;
  }

  #issueOptions(days: number): IssueOptions {
    const now = this.#options.clock.nowMs();
    return {
      validity: { notBeforeMs: now - backdateMs, notAfterMs: now + days * dayMs },
      serial: this.#options.random.bytes(16),
    };
  }

  #readPair(name: string): IssuedCertificate | undefined {
    const certificate = this.#read(`${name}.crt`);
    const privateKey = this.#read(`${name}.key`);
    if (certificate === undefined && privateKey === undefined) return undefined;
    if (certificate === undefined || privateKey === undefined) {
      const [missing, present] = certificate === undefined ? ["crt", "key"] : ["key", "crt"];
      throw this.#error(
        `${name}.${missing}`,
        `is missing beside ${name}.${present}: put it back, or remove both`,
      );
    }
    this.#checkPair(name, certificate, privateKey);
    return { certificate, privateKey };
  }

  #checkPair(name: string, certificate: string, privateKey: string): void {
    let matches: boolean;
    try {
      matches = new X509Certificate(certificate).checkPrivateKey(createPrivateKey(privateKey));
    } catch (cause) {
      throw this.#error(`${name}.crt or ${name}.key`, "does not hold PEM of a pair", cause);
    }
    if (!matches) throw this.#error(`${name}.key`, `does not belong to ${name}.crt`);
  }

  #read(file: string): string | undefined {
    try {
      return fs.readFileSync(path.join(this.#directory, file), "utf8");
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw this.#error(file, "cannot be read: check owner and mode", cause);
    }
  }

  #writePair(name: string, pair: IssuedCertificate): IssuedCertificate {
    this.#write(`${name}.key`, pair.privateKey, 0o600);
    this.#write(`${name}.crt`, pair.certificate, 0o644);
    return pair;
  }

  #write(file: string, text: string, mode: number): void {
    const target = path.join(this.#directory, file);
    const beside = `${target}.new`;
    try {
      fs.rmSync(beside, { force: true });
      fs.writeFileSync(beside, text, { mode, flag: "wx", flush: true });
      fs.renameSync(beside, target);
    } catch (cause) {
      throw this.#error(file, "cannot be written: check owner, mode and free space", cause);
    }
    this.written.push(file);
  }

  #error(file: string, what: string, cause?: unknown): PkiError {
    return new PkiError(`${path.join(this.#directory, file)} ${what}`, { cause });
  }
}

function sameHosts(a: readonly string[], b: readonly string[]): boolean {
  const normal = (hosts: readonly string[]): string => hosts.map(normalHost).sort().join(" ");
  return normal(a) === normal(b);
}

/** Returns one spelling per host, because certificates print IPv6 addresses in full. */
function normalHost(host: string): string {
  return isIPv6(host) ? Buffer.from(ipv6Bytes(host)).toString("hex") : host.toLowerCase();
}
