/**
 * Secrets of type kubernetes.io/service-account-token: filled with a token, the authority and the
 * namespace of the account that their annotation names; deleted when that account is gone.
 *
 * After  upstream's tokens-controller. Secrets are no longer made for accounts by themselves, as there.
 * Reads  only Secrets of that type (a field selector), so no other secret is held in memory.
 */
import type { Secret, ServiceAccount } from "#api/gen/types.ts";
import { ApiError } from "#api/status.ts";
import type { Client } from "#client/client.ts";
import { keyOf } from "#client/indexer.ts";
import { queueController, type Controller, type ControllerDeps } from "../framework/controller.ts";
import { refs } from "../framework/refs.ts";

interface Account {
  readonly name: string;
  readonly uid: string;
}

export interface LegacyTokens {
  /** As the controller manager itself: no account's role lets it write these secrets. */
  readonly client: Client;
  /** A signed token of this account, bound to the secret's name. */
  readonly mint: (namespace: string, account: Account, secretName: string) => string;
}

const workers = 5;
const fieldSelector = "type=kubernetes.io/service-account-token";
const nameKey = "kubernetes.io/service-account.name";
const uidKey = "kubernetes.io/service-account.uid";
const byAccount = "account";

export function legacyTokenController(
  deps: ControllerDeps,
  options: LegacyTokens & { readonly rootCa: string },
): Controller {
  const { client } = options;
  const secrets = deps.informers.informer<Secret>(refs.secrets, { fieldSelector });
  const accounts = deps.informers.informer<ServiceAccount>(refs.serviceaccounts);
  secrets.addIndex(byAccount, (secret) => [accountKey(secret)]);
  const controller = queueController(deps, { name: "tokens-controller", workers }, reconcile);
  const { queue } = controller;
  const wake = (secret: Secret): void => queue.add(keyOf(secret));
  secrets.addHandler({ add: wake, update: (_old, secret) => wake(secret) });
  const wakeThose = (account: ServiceAccount): void => {
    for (const secret of secrets.byIndex(byAccount, keyOf(account))) wake(secret);
  };
  accounts.addHandler({ add: wakeThose, delete: wakeThose });
  return controller;

  async function reconcile(key: string): Promise<void> {
    const secret = secrets.getByKey(key);
    if (secret === undefined || secret.metadata?.deletionTimestamp !== undefined) return;
    const { namespace = "", annotations = {} } = secret.metadata ?? {};
    const name = annotations[nameKey] ?? "";
    if (name === "") return;
    const account = accounts.get(namespace, name) ?? (await live(namespace, name));
    const uid = account?.metadata?.uid ?? "";
    const wanted = annotations[uidKey] ?? "";
    if (account === undefined || (wanted !== "" && wanted !== uid)) return remove(secret);
    const filled = filledSecret(secret, { name, uid }, options);
    if (filled !== undefined) await client.update<Secret>(refs.secrets, namespace, filled);
  }

  /** The cache may not know an account that was made a moment ago: its secret must not go by that. */
  async function live(namespace: string, name: string): Promise<ServiceAccount | undefined> {
    try {
      return await client.get<ServiceAccount>(refs.serviceaccounts, namespace, name);
    } catch (error) {
      if (error instanceof ApiError && error.code === 404) return undefined;
      throw error;
    }
  }

  async function remove({ metadata = {} }: Secret): Promise<void> {
    const { namespace = "", name = "", uid = "" } = metadata;
    try {
      await client.delete(refs.secrets, namespace, name, { preconditions: { uid } });
    } catch (error) {
      if (!(error instanceof ApiError) || (error.code !== 404 && error.code !== 409)) throw error;
    }
  }
}

/** Undefined: nothing is missing. */
function filledSecret(
  secret: Secret,
  account: Account,
  { mint, rootCa }: Pick<LegacyTokens, "mint"> & { readonly rootCa: string },
): Secret | undefined {
  const { name = "", namespace = "", annotations } = secret.metadata ?? {};
  const { data = {} } = secret;
  const ca = base64(rootCa);
  const hasNamespace = (data["namespace"] ?? "") !== "";
  const hasToken = (data["token"] ?? "") !== "";
  if (data["ca.crt"] === ca && hasNamespace && hasToken) return undefined;
  const made = {
    "ca.crt": ca,
    ...(hasNamespace ? {} : { namespace: base64(namespace) }),
    ...(hasToken ? {} : { token: base64(mint(namespace, account, name)) }),
  };
  const noted = { ...annotations, [nameKey]: account.name, [uidKey]: account.uid };
  return {
    ...secret,
    metadata: { ...secret.metadata, annotations: noted },
    data: { ...data, ...made },
  };
}

function accountKey({ metadata }: Secret): string {
  return `${metadata?.namespace ?? ""}/${metadata?.annotations?.[nameKey] ?? ""}`;
}

/** PEM, names and tokens are ASCII. */
function base64(text: string): string {
  return btoa(text);
}
