/**
 * Secrets of type kubernetes.io/service-account-token: fills them with a token, the authority and the namespace of the
 * account that their annotation names; deletes them when that account is deleted.
 *
 * After  upstream's tokens-controller; as in upstream, no Secrets are created for accounts.
 * Reads  only Secrets of that type (a field selector), so no other secret is held in memory.
 */
import type { Secret, ServiceAccount } from "#api/gen/types.ts";
import { isNotFound } from "#client/api-errors.ts";
import type { Client } from "#client/client.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import { keyOf } from "#client/indexer.ts";
import type { Informer } from "#client/informer.ts";
import { watch, type Source } from "#client/sources.ts";
import { ignoreGone } from "../framework/api-errors.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { refs } from "../framework/refs.ts";

interface Account {
  readonly name: string;
  readonly uid: string;
}

export interface LegacyTokens {
  /** Acts as the controller manager itself, because no account's role may write these secrets. */
  readonly client: Client;
  /** Creates a signed token of the account, bound to the secret's name. */
  readonly mint: (namespace: string, account: Account, secretName: string) => string;
}

type LegacyTokensOptions = LegacyTokens & { readonly rootCa: string };

/** Shared with the cleaner of unused tokens, so that there is one copy of these Secrets. */
export const legacyTokenSelector = "type=kubernetes.io/service-account-token";
const nameKey = "kubernetes.io/service-account.name";
const uidKey = "kubernetes.io/service-account.uid";
const byAccount = "account";

export class TokensController implements ControllerOptions<Secret> {
  readonly name = "tokens-controller";
  readonly workers = 5;
  readonly ref = refs.secrets;
  readonly fieldSelector = legacyTokenSelector;
  readonly when = { on: ["add", "update"] } as const;
  readonly sources: readonly Source[];
  readonly #options: LegacyTokensOptions;
  readonly #accounts: Informer<ServiceAccount>;

  constructor(deps: ControllerDeps, options: LegacyTokensOptions) {
    this.#options = options;
    const secrets = deps.informers.informer<Secret>(refs.secrets, {
      fieldSelector: legacyTokenSelector,
    });
    this.#accounts = deps.informers.informer<ServiceAccount>(refs.serviceaccounts);
    secrets.addIndex(byAccount, (secret) => [accountKey(secret)]);
    const secretsOf = (account: ServiceAccount): readonly string[] =>
      secrets.byIndex(byAccount, keyOf(account)).map(keyOf);
    this.sources = [watch(this.#accounts, secretsOf, { on: ["add", "delete"] })];
  }

  async reconcile({ object: secret }: ReconcileRequest<Secret>): Promise<void> {
    if (secret === undefined || secret.metadata?.deletionTimestamp !== undefined) return;
    const { namespace = "", annotations = {} } = secret.metadata ?? {};
    const name = annotations[nameKey] ?? "";
    if (name === "") return;
    const account = await this.#findAccount(namespace, name);
    const uid = account?.metadata?.uid ?? "";
    const wanted = annotations[uidKey] ?? "";
    if (account === undefined || (wanted !== "" && wanted !== uid)) return this.#remove(secret);
    await this.#fill(secret, { name, uid });
  }

  /** Asks the server too, because an account missing in the cache may just have been created. */
  async #findAccount(namespace: string, name: string): Promise<ServiceAccount | undefined> {
    const cached = this.#accounts.get(namespace, name);
    if (cached !== undefined) return cached;
    const { client } = this.#options;
    try {
      return await client.get<ServiceAccount>(refs.serviceaccounts, namespace, name);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #fill(secret: Secret, account: Account): Promise<void> {
    const filled = fillSecret(secret, account, this.#options);
    if (filled === undefined) return;
    const namespace = secret.metadata?.namespace ?? "";
    await this.#options.client.update<Secret>(refs.secrets, namespace, filled);
  }

  async #remove({ metadata = {} }: Secret): Promise<void> {
    const { namespace = "", name = "", uid = "" } = metadata;
    const preconditions = { uid };
    await this.#options.client
      .delete(refs.secrets, namespace, name, { preconditions })
      .catch(ignoreGone);
  }
}

/** The secret with missing fields added; undefined: none is missing. Pure. */
function fillSecret(
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
