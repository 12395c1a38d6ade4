/**
 * What every namespace has: a `default` ServiceAccount, and the ConfigMap `kube-root-ca.crt` with the
 * authority that pods check the API server by. Pods are not admitted before the former exists.
 */
import type { ConfigMap, Namespace, ServiceAccount } from "#api/gen/types.ts";
import type { KubeObject } from "#api/object.ts";
import { ApiError } from "#api/status.ts";
import type { Informer } from "#client/informer.ts";
import { queueController, type Controller, type ControllerDeps } from "../framework/controller.ts";
import { jsonEqual } from "../framework/equal.ts";
import { refs } from "../framework/refs.ts";

const workers = 5;
const defaultAccount = "default";
const rootCaName = "kube-root-ca.crt";
/** Upstream's annotation on the ConfigMap: it tells readers that edits are overwritten. */
const rootCaNote =
  "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";

export function serviceAccountController(deps: ControllerDeps): Controller {
  const accounts = deps.informers.informer<ServiceAccount>(refs.serviceaccounts);
  return perNamespace(
    deps,
    "serviceaccount-controller",
    accounts,
    defaultAccount,
    async (namespace) => {
      if (accounts.get(namespace, defaultAccount) !== undefined) return;
      const account = {
        apiVersion: "v1",
        kind: "ServiceAccount",
        metadata: { name: defaultAccount, namespace },
      };
      await deps.client.create(refs.serviceaccounts, namespace, account).catch(ignoreLate);
    },
  );
}

/** `rootCa` is PEM. */
export function rootCaPublisher(deps: ControllerDeps, rootCa: string): Controller {
  const configMaps = deps.informers.informer<ConfigMap>(refs.configmaps);
  const data = { "ca.crt": rootCa };
  return perNamespace(
    deps,
    "root-ca-certificate-publisher-controller",
    configMaps,
    rootCaName,
    async (namespace) => {
      const current = configMaps.get(namespace, rootCaName);
      if (current === undefined) {
        const annotations = { "kubernetes.io/description": rootCaNote };
        const metadata = { name: rootCaName, namespace, annotations };
        const made = { apiVersion: "v1", kind: "ConfigMap", metadata, data };
        return void (await deps.client.create(refs.configmaps, namespace, made).catch(ignoreLate));
      }
      if (jsonEqual(current.data, data)) return;
      await deps.client.update(refs.configmaps, namespace, { ...current, data });
    },
  );
}

/** Calls `ensure` for each living namespace, and again when `name` changes or goes in it. */
function perNamespace<T extends KubeObject>(
  deps: ControllerDeps,
  controllerName: string,
  objects: Informer<T>,
  name: string,
  ensure: (namespace: string) => Promise<void>,
): Controller {
  const namespaces = deps.informers.informer<Namespace>(refs.namespaces);
  const controller = queueController(deps, { name: controllerName, workers }, async (namespace) => {
    const found = namespaces.get("", namespace);
    if (found === undefined || found.metadata?.deletionTimestamp !== undefined) return;
    await ensure(namespace);
  });
  const wake = (namespace: Namespace): void => controller.queue.add(namespace.metadata?.name ?? "");
  namespaces.addHandler({ add: wake, update: (_old, namespace) => wake(namespace) });
  const wakeOwn = (object: T): void => {
    if (object.metadata?.name === name) controller.queue.add(object.metadata.namespace ?? "");
  };
  objects.addHandler({ update: (_old, object) => wakeOwn(object), delete: wakeOwn });
  return controller;
}

/** Made by another meanwhile, or the namespace is on its way out. */
function ignoreLate(error: unknown): void {
  if (error instanceof ApiError && (error.code === 409 || error.code === 404 || error.code === 403))
    return;
  throw error;
}
