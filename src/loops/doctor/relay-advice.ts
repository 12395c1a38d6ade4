/**
 * The manifest that puts a relay before one workload: values for the chart of `deploy/helm`, and a patch of the workload by which
 * `rest.InClusterConfig` of its pods finds the relay and trusts it.
 *
 * Holds  every name of the cluster is a quoted scalar, or one word within a command: none adds a line or a field.
 */
import type { Workload } from "./evidence.ts";
import { quoted } from "./rule.ts";

interface AdvisedKind {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

const host = "pilothouse-relay.pilothouse.svc";
/** Maximum length of a name; longer ones are cut. Kubernetes' own names are not longer. */
const nameMax = 253;

/** Returns the manifest for a relay. `workload` undefined: the workload behind the caller is not known. */
export function relayManifest(
  kinds: readonly AdvisedKind[],
  workload: Workload | undefined,
): string {
  const resources = kinds.map(({ group, version, resource }) =>
    text([group, version === "" ? "v1" : version, resource].filter((one) => one !== "").join("/")),
  );
  const values = [
    "# helm upgrade --install pilothouse deploy/helm/pilothouse -n pilothouse --create-namespace -f values.yaml",
    `relay: {resources: [${resources.join(", ")}]}`,
  ];
  return [...values, ...(workload === undefined ? [] : patch(workload)), ""].join("\n");
}

/** Returns a strategic merge patch for the workload. */
function patch({ kind, namespace, name, containers }: Workload): readonly string[] {
  const within = `kubectl -n ${word(namespace)}`;
  const secret = "kubectl -n pilothouse get secret pilothouse-relay-tls";
  return [
    "---",
    `# ${secret} -o go-template='{{index .data "ca.crt" | base64decode}}' > ca.crt`,
    `# ${within} create configmap relay-ca --from-file=ca.crt`,
    `# ${within} patch ${word(kind)} ${word(name)} --patch-file patch.yaml`,
    "spec:",
    "  template:",
    "    spec:",
    "      automountServiceAccountToken: false",
    "      containers:",
    ...containers.flatMap((container) => [
      `        - name: ${text(container)}`,
      "          env:",
      `            - {name: KUBERNETES_SERVICE_HOST, value: ${host}}`,
      '            - {name: KUBERNETES_SERVICE_PORT, value: "443"}',
      "          volumeMounts:",
      "            - {name: relay, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}",
    ]),
    "      volumes:",
    "        - name: relay",
    "          projected:",
    "            sources:",
    "              - serviceAccountToken: {path: token, expirationSeconds: 3607}",
    "              - configMap: {name: relay-ca, items: [{key: ca.crt, path: ca.crt}]}",
    "              - downwardAPI: {items: [{path: namespace, fieldRef: {fieldPath: metadata.namespace}}]}",
  ];
}

/** Quotes a text as JSON, which is valid YAML. */
function text(name: string): string {
  return JSON.stringify(name.slice(0, nameMax));
}

/** Quotes a word for a command within a comment; a line break would end the comment. */
function word(name: string): string {
  return quoted(name.slice(0, nameMax).replace(/[\p{Cc}\u2028\u2029]/gu, "?"));
}
