/** A kubeconfig with all certificates and keys embedded, as kubectl and client libraries read it. */
import { createPrivateKey } from "node:crypto";

interface KubeconfigOptions {
  /** URL of the server, such as `https://127.0.0.1:6443`. */
  readonly server: string;
  /** PEM texts. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  readonly user: string;
  readonly cluster: string;
}

/**
 * Returns a kubeconfig. It contains a private key, so the caller writes it with mode 0600. Names are quoted as JSON,
 * which is valid YAML.
 */
export function kubeconfigYaml(options: KubeconfigOptions): string {
  const quote = (text: string): string => JSON.stringify(text);
  const base64 = (pem: string): string => Buffer.from(pem).toString("base64");
  const context = quote(`${options.user}@${options.cluster}`);
  return [
    "apiVersion: v1",
    "kind: Config",
    "clusters:",
    `- name: ${quote(options.cluster)}`,
    "  cluster:",
    `    server: ${quote(options.server)}`,
    `    certificate-authority-data: ${base64(options.ca)}`,
    "contexts:",
    `- name: ${context}`,
    "  context:",
    `    cluster: ${quote(options.cluster)}`,
    `    user: ${quote(options.user)}`,
    `current-context: ${context}`,
    "preferences: {}",
    "users:",
    `- name: ${quote(options.user)}`,
    "  user:",
    `    client-certificate-data: ${base64(options.cert)}`,
    `    client-key-data: ${base64(readByAll(options.key))}`,
    "",
  ].join("\n");
}

/**
 * Writes the key in the form whose first line says that it is an EC key, as kubeadm does. The most used Java client
 * takes "PRIVATE KEY" for an RSA key and fails with "Invalid DER". All other clients read either form.
 */
function readByAll(pem: string): string {
  const key = createPrivateKey(pem);
  if (key.asymmetricKeyType !== "ec") return pem;
  return key.export({ type: "sec1", format: "pem" }).toString();
}
