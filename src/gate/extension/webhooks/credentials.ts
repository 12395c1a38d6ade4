/**
 * Selects the user of the operator's kubeconfig whose credentials a webhook gets: by its host and port, then by
 * wildcards of its domains, then the same without port 443, then `*`, then the user of the current context.
 *
 * Why this is safe: users are found by the names that the operator gave them, never by an answer of a webhook.
 */
import type { Credentials } from "./trusts.ts";

export interface CredentialUsers {
  readonly users: ReadonlyMap<string, Credentials>;
  /** User of the current context, for all other hosts. */
  readonly otherwise?: Credentials;
}

export function credentialsFor(
  { users, otherwise }: CredentialUsers,
  hostPort: string,
): Credentials | undefined {
  const host = hostPort.endsWith(":443") ? hostPort.slice(0, -":443".length) : undefined;
  const names = [
    ...namesOf(hostPort),
    ...(host === undefined ? [] : namesOf(host.replace(/^\[(.*)\]$/, "$1"))),
    "*",
  ];
  const name = names.find((each) => users.has(each));
  return name === undefined ? otherwise : users.get(name);
}

/** Returns the names to look up, such as `a.b.svc`, `*.b.svc`, `*.svc`. */
function namesOf(target: string): readonly string[] {
  const steps = target.split(".");
  return [target, ...steps.slice(1).map((_step, at) => `*.${steps.slice(at + 1).join(".")}`)];
}
