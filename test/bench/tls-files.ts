/** Certificates made for one run: an authority's, a server's and a client's, as files. */
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  makeAuthority,
  makeClientCertificate,
  makeServerCertificate,
} from "../../src/gate/auth/pki.ts";

export interface KeyFiles {
  readonly key: string;
  readonly cert: string;
}

export interface TlsFiles {
  readonly ca: string;
  readonly server: KeyFiles;
  readonly client: KeyFiles;
}

export function makeTlsFiles(directory: string): TlsFiles {
  const now = Date.now();
  const validity = { notBeforeMs: now - 60_000, notAfterMs: now + 3_600_000 };
  const issue = () => ({ validity, serial: randomBytes(16) });
  const authority = makeAuthority("bench", issue());
  const subject = { commonName: "bench-client", organizations: ["bench"] };
  const server = makeServerCertificate(authority, "bench", ["localhost", "127.0.0.1"], issue());
  const client = makeClientCertificate(authority, subject, issue());
  const ca = join(directory, "ca.pem");
  writeFileSync(ca, authority.certificate);
  return { ca, server: kept("server", server), client: kept("client", client) };

  function kept(name: string, { privateKey, certificate }: typeof server): KeyFiles {
    const files = { key: join(directory, `${name}.key`), cert: join(directory, `${name}.crt`) };
    writeFileSync(files.key, privateKey, { mode: 0o600 });
    writeFileSync(files.cert, certificate);
    return files;
  }
}
