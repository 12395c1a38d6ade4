/** Kubeconfigs that a role writes for its users, with mode 0600. A file is complete or absent. */
import { renameSync, writeFileSync } from "node:fs";
import { kubeconfigYaml } from "#auth/kubeconfig.ts";
import type { Pki } from "#auth/pki-files.ts";
import type { IssuedCertificate } from "#auth/pki.ts";

interface KubeUser {
  readonly name: string;
  readonly certificate: IssuedCertificate;
}

export function writeKubeconfig(
  path: string,
  server: string,
  pki: Pick<Pki, "authority">,
  user: KubeUser,
): void {
  const text = kubeconfigYaml({
    server,
    ca: pki.authority.certificate,
    cert: user.certificate.certificate,
    key: user.certificate.privateKey,
    user: user.name,
    cluster: "pilothouse",
  });
  const next = `${path}.new`;
  writeFileSync(next, text, { mode: 0o600 });
  renameSync(next, path);
}

export function kubeAdmin(pki: Pick<Pki, "admin">): KubeUser {
  return { name: "kubernetes-admin", certificate: pki.admin };
}
