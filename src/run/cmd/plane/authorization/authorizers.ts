/** The running authorizers of a configuration, in its order, as the file defines them now. */
import type { Authorizer } from "#auth/auth.ts";
import {
  allowingAuthorizer,
  denyingAuthorizer,
  mastersAuthorizer,
  unionAuthorizer,
} from "#auth/authorize.ts";
import { ReviewClient } from "#auth/webhooks/review-client.ts";
import { type AuthorizerObserver, WebhookAuthorizer } from "#auth/webhooks/webhook-authorizer.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import { ConfigurationFile, hashOf } from "../authentication/configuration-file.ts";
import { reloadObserver } from "../authentication/metrics.ts";
import { type CountDecisions, decisionCounter, webhookObserver } from "./metrics.ts";
import type { AuthorizationSetup, ConnectedAuthorizer } from "./setup.ts";

interface AuthorizersDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: MetricSet;
  readonly serverId: string;
  readonly node: Authorizer;
  readonly rbac: Authorizer;
}

interface Authorizers {
  readonly authorizer: Authorizer;
  /** Closes the connections to webhooks. */
  close(): void;
}

export function openAuthorizers(deps: AuthorizersDeps, setup: AuthorizationSetup): Authorizers {
  const builder = new Builder(deps);
  const { first, file } = setup;
  let configured = first;
  let union = builder.build(first);
  const watched = watchedFile(deps, file);
  const current = (): Authorizer => {
    const next = watched?.current() ?? first;
    if (next === configured) return union;
    closeAll(configured);
    configured = next;
    union = builder.build(next);
    return union;
  };
  return {
    authorizer: {
      authorize: (attributes) => current().authorize(attributes),
      rulesFor: (user, namespace) => current().rulesFor(user, namespace),
    },
    close: () => closeAll(configured),
  };
}

function watchedFile(deps: AuthorizersDeps, file: AuthorizationSetup["file"]) {
  const { clock, log } = deps;
  const observe = reloadObserver(deps, "authorization", file && hashOf(file.text));
  if (file === undefined) return undefined;
  return new ConfigurationFile({ clock, log, observe }, file);
}

/** Closes the connections. Reviews in flight still get their answers. */
function closeAll(authorizers: readonly ConnectedAuthorizer[]): void {
  for (const one of authorizers) if (one.type === "Webhook") one.connection.close();
}

class Builder {
  readonly #deps: AuthorizersDeps;
  readonly #count: CountDecisions;
  readonly #observer: AuthorizerObserver;

  constructor(deps: AuthorizersDeps) {
    this.#deps = deps;
    this.#count = decisionCounter(deps.metrics);
    this.#observer = webhookObserver(deps.metrics);
  }

  build(authorizers: readonly ConnectedAuthorizer[]): Authorizer {
    const asked = authorizers.map((one) => this.#count(one, this.#of(one)));
    return unionAuthorizer([mastersAuthorizer, ...asked]);
  }

  #of(one: ConnectedAuthorizer): Authorizer {
    const { clock, log, node, rbac } = this.#deps;
    switch (one.type) {
      case "AlwaysAllow":
        return allowingAuthorizer;
      case "AlwaysDeny":
        return denyingAuthorizer;
      case "Node":
        return node;
      case "RBAC":
        return rbac;
      case "Webhook": {
        const { send } = one.connection;
        const client = new ReviewClient({ clock, send }, { timeoutMs: one.timeoutMs });
        return new WebhookAuthorizer({ clock, log, client, observer: this.#observer }, one.options);
      }
      default:
        return one satisfies never;
    }
  }
}
