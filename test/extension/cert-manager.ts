/**
 * What cert-manager's chart installs, without its pods: definitions as published, and by hand what the chart makes of
 * templates. The Service has no selector; the EndpointSlice names this host, where the programs run.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The last version of which the programs are in the module of the definitions. */
export const certManager = "github.com/cert-manager/cert-manager@v1.11.5";
export const programs = ["webhook", "controller", "cainjector"] as const;
export type Program = (typeof programs)[number];

const namespace = "cert-manager";
const service = "cert-manager-webhook";

/** Only labels are templates. */
export function definitionsOf(folder: string): string {
  const files = join(folder, "deploy", "crds");
  return readdirSync(files)
    .filter((name) => name.endsWith(".yaml"))
    .map((name) => readFileSync(join(files, name), "utf8"))
    .map((text) => text.replace(/'\{\{[^']*\}\}'/g, "cert-manager"))
    .join("\n---\n");
}

/** JSON documents, one after the other. */
export function objectsFor(address: string, port: number): string {
  const metadata = { name: service, namespace };
  const list = [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata,
      spec: { ports: [{ name: "https", port: 443, targetPort: port }] },
    },
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { ...metadata, labels: { "kubernetes.io/service-name": service } },
      addressType: "IPv4",
      endpoints: [{ addresses: [address], conditions: { ready: true } }],
      ports: [{ name: "https", port, protocol: "TCP" }],
    },
    configuration("MutatingWebhookConfiguration", "/mutate"),
    configuration("ValidatingWebhookConfiguration", "/validate"),
  ];
  return list.map((one) => JSON.stringify(one)).join("\n");
}

function configuration(kind: string, path: string): object {
  const annotations = { "cert-manager.io/inject-ca-from-secret": `${namespace}/${service}-ca` };
  const rule = {
    apiGroups: ["cert-manager.io", "acme.cert-manager.io"],
    apiVersions: ["v1"],
    operations: ["CREATE", "UPDATE"],
    resources: ["*/*"],
  };
  const webhook = {
    name: "webhook.cert-manager.io",
    rules: [rule],
    admissionReviewVersions: ["v1"],
    matchPolicy: "Equivalent",
    timeoutSeconds: 10,
    failurePolicy: "Fail",
    sideEffects: "None",
    clientConfig: { service: { name: service, namespace, path } },
  };
  const metadata = { name: service, annotations };
  return { apiVersion: "admissionregistration.k8s.io/v1", kind, metadata, webhooks: [webhook] };
}

export function argumentsOf(program: Program, kubeconfig: string, port: number): string[] {
  const common = [`--kubeconfig=${kubeconfig}`];
  if (program === "cainjector") return [...common, "--leader-elect=false"];
  if (program === "controller") {
    const local = "--metrics-listen-address=127.0.0.1:0";
    return [...common, "--leader-elect=false", `--cluster-resource-namespace=${namespace}`, local];
  }
  return [
    ...common,
    `--secure-port=${port}`,
    "--healthz-port=0",
    `--dynamic-serving-ca-secret-namespace=${namespace}`,
    `--dynamic-serving-ca-secret-name=${service}-ca`,
    `--dynamic-serving-dns-names=${service}.${namespace}.svc`,
  ];
}

const issuerRef = (name: string): object => ({ name, kind: "Issuer" });

function certificate(name: string, spec: object): object {
  const dnsNames = [`${name}.example.com`];
  return {
    apiVersion: "cert-manager.io/v1",
    kind: "Certificate",
    metadata: { name, namespace: "default" },
    spec: { secretName: name, dnsNames, ...spec },
  };
}

function issuer(name: string, spec: object): object {
  const metadata = { name, namespace: "default" };
  return { apiVersion: "cert-manager.io/v1", kind: "Issuer", metadata, spec };
}

/** A self-signed authority, and a certificate of it. */
export const issued = [
  issuer("self", { selfSigned: {} }),
  certificate("authority", { isCA: true, commonName: "authority", issuerRef: issuerRef("self") }),
  issuer("authority", { ca: { secretName: "authority" } }),
  certificate("leaf", { issuerRef: issuerRef("authority") }),
];

/** What the schema allows and only the webhook refuses. */
export const refused = certificate("refused", {
  issuerRef: issuerRef("self"),
  privateKey: { algorithm: "RSA", size: 1024 },
});
