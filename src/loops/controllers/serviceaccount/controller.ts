/** Ensures a ServiceAccount `default` in every namespace, without which pods are not admitted. */
import type { Namespace, ServiceAccount } from "#api/gen/types.ts";
import type { ControllerOptions } from "#client/create-controller.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { ignoreLate, perNamespaceController } from "./per-namespace.ts";

export const serviceAccountRole: ControllerRole = {
  account: "service-account-controller",
  rules: ["create | core | serviceaccounts", "events"],
};

const accountName = "default";

export function serviceAccountController(deps: ControllerDeps): ControllerOptions<Namespace> {
  const accounts = deps.informers.informer<ServiceAccount>(refs.serviceaccounts);
  return perNamespaceController({
    name: "serviceaccount-controller",
    objects: accounts,
    objectName: accountName,
    async ensure(namespace) {
      if (accounts.get(namespace, accountName) !== undefined) return;
      const metadata = { name: accountName, namespace };
      const account = { apiVersion: "v1", kind: "ServiceAccount", metadata };
      await deps.client.create(refs.serviceaccounts, namespace, account).catch(ignoreLate);
    },
  });
}
