/** A kubeconfig with everything embedded, as kubectl and client libraries read it. */

interface KubeconfigOptions {
  /** `https://127.0.0.1:6443`. */
  readonly server: string;
  /** PEM texts. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  readonly user: string;
  readonly cluster: string;
}

/** Holds a private key: the caller writes it with mode 0600. Names are quoted as JSON, which is YAML. */
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
    `    client-key-data: ${base64(options.key)}`,
    "",
  ].join("\n");
}
