/** Flags of authorization, with kube-apiserver's names and meanings. */
import type { Command } from "commander";
import { goDuration, nameList } from "../../shared/flag-values.ts";

/** Absent: not given. Upstream distinguishes a given flag from one that has its default. */
export interface AuthorizationFlags {
  readonly authorizationMode?: readonly string[];
  readonly authorizationConfig?: string;
  readonly authorizationWebhookConfigFile?: string;
  readonly authorizationWebhookVersion?: string;
  /** Time that an allowing answer of the webhook is cached, in milliseconds. */
  readonly authorizationWebhookCacheAuthorizedTtl?: number;
  readonly authorizationWebhookCacheUnauthorizedTtl?: number;
}

export function addAuthorizationFlags(command: Command): void {
  command
    .option(
      "--authorization-mode <list>",
      "who is asked what a user may do, in this order: AlwaysAllow, AlwaysDeny, Node, RBAC, Webhook, comma separated (default: Node,RBAC)",
      nameList,
    )
    .option(
      "--authorization-config <file>",
      "an AuthorizationConfiguration (apiserver.config.k8s.io/v1) instead of the other --authorization flags; read again when it changes",
    )
    .option(
      "--authorization-webhook-config-file <file>",
      "kubeconfig of the server that mode Webhook asks by SubjectAccessReview",
    )
    .option(
      "--authorization-webhook-version <version>",
      "version of SubjectAccessReview, v1 or v1beta1 (default: v1beta1)",
    )
    .option(
      "--authorization-webhook-cache-authorized-ttl <duration>",
      "how long an allowing answer is remembered (default: 5m)",
      goDuration,
    )
    .option(
      "--authorization-webhook-cache-unauthorized-ttl <duration>",
      "how long any other answer is remembered (default: 30s)",
      goDuration,
    );
}
