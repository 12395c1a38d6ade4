/**
 * Secrets of type kubernetes.io/service-account-token: filled with a token, the authority and the
 * namespace of the account that their annotation names; deleted when that account is gone.
 *
 * After  upstream's tokens-controller; as there, no Secrets are created for accounts.
 * Reads  only Secrets of that type (a field selector), so no other secret is held in memory.
 */
import type { Secret, ServiceAccount } from "#api/gen/types.ts";
import type { Client } from "#client/client.ts";
import type { Informer } from "#client/informer.ts";
import { keyOf } from "#client/indexer.ts";
import { isNotFound } from "#client/api-errors.ts";
import type { WorkQueueMetrics } from "#client/workqueue.ts";
import { ignoreGone } from "../framework/api-errors.ts";
import {
  queueController,
  type Controller,
  type ControllerDeps,
  type QueueController,
} from "../framework/controller.ts";
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

type LegacyTokensOptions = LegacyTokens & { readonly rootCa: string };

const workers = 5;
const fieldSelector = "type=kubernetes.io/service-account-token";
const nameKey = "kubernetes.io/service-account.name";
const uidKey = "kubernetes.io/service-account.uid";
const byAccount = "account";

export class TokensController implements Controller {
  readonly name = "tokens-controller";
  readonly #options: LegacyTokensOptions;
  readonly #secrets: Informer<Secret>;
  readonly #accounts: Informer<ServiceAccount>;
  readonly #loop: QueueController;

  constructor(deps: ControllerDeps, options: LegacyTokensOptions) {
    this.#options = options;
    this.#secrets = deps.informers.informer<Secret>(refs.secrets, { fieldSelector });
    this.#accounts = deps.informers.informer<ServiceAccount>(refs.serviceaccounts);
    this.#secrets.addIndex(byAccount, (secret) => [accountKey(secret)]);
    const { name } = this;
    this.#loop = queueController(deps, { name, workers }, (key) => this.#reconcile(key));
    this.#addHandlers();
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  metrics(): WorkQueueMetrics {
    return this.#loop.metrics();
  }

  #addHandlers(): void {
    const { queue } = this.#loop;
    const enqueue = (secret: Secret): void => queue.add(keyOf(secret));
    const enqueueSecrets = (account: ServiceAccount): void => {
      for (const secret of this.#secrets.byIndex(byAccount, keyOf(account))) enqueue(secret);
    };
    this.#secrets.addHandler({ add: enqueue, update: (_old, secret) => enqueue(secret) });
    this.#accounts.addHandler({ add: enqueueSecrets, delete: enqueueSecrets });
  }

  async #reconcile(key: string): Promise<void> {
    const secret = this.#secrets.getByKey(key);
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

  /** An account that the cache lacks may have been created a moment ago: the server is asked. */
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

/** The secret with what it lacks, pure; undefined: it lacks nothing. */
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
