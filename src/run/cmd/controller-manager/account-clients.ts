/**
 * One client per service account of kube-system, as kube-controller-manager has them with
 * `--use-service-account-credentials`: each controller acts with its own rights.
 *
 * The account is made when it is missing; its token comes from a TokenRequest, is kept until four fifths
 * of its life are over, and is asked for once however many requests wait for it. After a 401 (the account was made anew,
 * keys were rotated) it is asked for again.
 */
import type { ServiceAccount, TokenRequest } from "#api/gen/types.ts";
import { isAlreadyExists, isNotFound } from "#client/api-errors.ts";
import type { Client } from "#client/client.ts";
import type { ByteRequest, ByteResponse, ByteTransport } from "#platform/byte-transport.ts";
import type { Clock } from "#platform/clock.ts";

const namespace = "kube-system";
const accounts = { group: "", version: "v1", resource: "serviceaccounts" };
/** Lifetime of a requested token, the same as upstream's. */
const lifetimeSeconds = 3_600;

interface TokenDeps {
  readonly clock: Clock;
  /** Client with the controller manager's own credentials. */
  readonly client: Client;
}

interface Token {
  readonly value: string;
  readonly renewAtMs: number;
}

class AccountToken {
  readonly #deps: TokenDeps;
  readonly #account: string;
  #token: Token | undefined;
  #asking: Promise<Token> | undefined;

  constructor(deps: TokenDeps, account: string) {
    this.#deps = deps;
    this.#account = account;
  }

  async get(): Promise<string> {
    const { clock } = this.#deps;
    if (this.#token !== undefined && clock.nowMs() < this.#token.renewAtMs)
      return this.#token.value;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    this.#token = await this.#asking;
    return this.#token.value;
  }

  /** Drops the token with this value, which the server refused. A newer token is kept. */
  forget(value: string): void {
    if (this.#token?.value === value) this.#token = undefined;
  }

  async #ask(): Promise<Token> {
    try {
      return await this.#request();
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await this.#createAccount();
      return this.#request();
    }
  }

  async #request(): Promise<Token> {
    const { client, clock } = this.#deps;
    const askedMs = clock.nowMs();
    const request = {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { expirationSeconds: lifetimeSeconds },
    };
    const answer = await client.createSub(accounts, namespace, this.#account, "token", request);
    const { token = "", expirationTimestamp = "" } = (answer as TokenRequest).status ?? {};
    const endMs = Date.parse(expirationTimestamp);
    const lifeMs = Number.isFinite(endMs) ? endMs - askedMs : lifetimeSeconds * 1_000;
    return { value: token, renewAtMs: askedMs + lifeMs * 0.8 };
  }

  async #createAccount(): Promise<void> {
    const metadata = { name: this.#account, namespace };
    const made: ServiceAccount = { apiVersion: "v1", kind: "ServiceAccount", metadata };
    try {
      await this.#deps.client.create(accounts, namespace, made);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }
}

/** `http` presents no client certificate, so the token alone identifies the account. */
export function accountTransport(
  deps: TokenDeps,
  http: ByteTransport,
  account: string,
): ByteTransport {
  const token = new AccountToken(deps, account);
  return {
    async send(request): Promise<ByteResponse> {
      const value = await token.get();
      const response = await http.send(withToken(request, value));
      if (response.status === 401) token.forget(value);
      return response;
    },
    close: () => http.close(),
  };
}

function withToken(request: ByteRequest, value: string): ByteRequest {
  return { ...request, headers: { ...request.headers, authorization: `Bearer ${value}` } };
}
