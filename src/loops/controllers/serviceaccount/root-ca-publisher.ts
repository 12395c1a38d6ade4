/** Ensures a ConfigMap `kube-root-ca.crt` in every namespace, with which pods verify the API server. */
import type { ConfigMap, Namespace } from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import type { Client } from "#client/client.ts";
import type { ControllerOptions } from "#client/create-controller.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { ignoreLate, perNamespaceController } from "./per-namespace.ts";

export const rootCaPublisherRole: ControllerRole = {
  account: "root-ca-cert-publisher",
  rules: ["create,update | core | configmaps", "events"],
};

const mapName = "kube-root-ca.crt";
/** Upstream's annotation on the ConfigMap. */
const description =
  "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";

/** `rootCa` is PEM. */
export function rootCaPublisher(
  { client, informers }: ControllerDeps,
  { rootCa }: { readonly rootCa: string },
): ControllerOptions<Namespace> {
  const configMaps = informers.informer<ConfigMap>(refs.configmaps);
  const data = { "ca.crt": rootCa };
  return perNamespaceController({
    name: "root-ca-certificate-publisher-controller",
    objects: configMaps,
    objectName: mapName,
    async ensure(namespace) {
      const current = configMaps.get(namespace, mapName);
      if (current === undefined) await createMap(client, namespace, data);
      else if (!jsonEqual(current.data, data))
        await client.update(refs.configmaps, namespace, { ...current, data });
    },
  });
}

async function createMap(
  client: Client,
  namespace: string,
  data: Readonly<Record<string, string>>,
): Promise<void> {
  const annotations = { "kubernetes.io/description": description };
  const metadata = { name: mapName, namespace, annotations };
  const map = { apiVersion: "v1", kind: "ConfigMap", metadata, data };
  await client.create(refs.configmaps, namespace, map).catch(ignoreLate);
}
