/**
 * Authenticates bootstrap tokens, with which nodes join: `abcdef.0123456789abcdef`, stored as secrets of type
 * bootstrap.kubernetes.io/token in kube-system.
 */
import { timingSafeEqual } from "node:crypto";
import { parseTime } from "#api/values/time.ts";
import type { Lister } from "#api/lister.ts";
import type { Clock } from "#platform/clock.ts";
import type { UserInfo } from "#platform/http.ts";
import type { UserTokens } from "./auth.ts";
import { groups, withAuthenticated } from "./groups.ts";

const tokenForm = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const extraGroupForm = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;

export class BootstrapTokens implements UserTokens {
  readonly #lookup: Lister;
  readonly #clock: Clock;

  constructor(deps: { readonly lookup: Lister; readonly clock: Clock }) {
    this.#lookup = deps.lookup;
    this.#clock = deps.clock;
  }

  userOf(token: string): UserInfo | undefined {
    const [, id, secret] = tokenForm.exec(token) ?? [];
    if (id === undefined || secret === undefined) return undefined;
    const data = this.#tokenData(id);
    if (data === undefined || !sameText(data("token-secret"), secret)) return undefined;
    const extra = extraGroups(data("auth-extra-groups"));
    if (data("token-id") !== id || extra === undefined) return undefined;
    const user = { name: `system:bootstrap:${id}`, groups: [groups.bootstrappers, ...extra] };
    return withAuthenticated(user);
  }

  /** Returns a reader of the secret's decoded values, which yields "" for an absent key. Undefined: the secret is not usable. */
  #tokenData(id: string): ((key: string) => string) | undefined {
    const secrets = { group: "", resource: "secrets" };
    const object = this.#lookup.get(secrets, "kube-system", `bootstrap-token-${id}`);
    if (object === undefined || object.metadata?.deletionTimestamp !== undefined) return undefined;
    if (object["type"] !== "bootstrap.kubernetes.io/token") return undefined;
    const values = (object["data"] ?? {}) as Readonly<Record<string, string>>;
    const data = (key: string): string => Buffer.from(values[key] ?? "", "base64").toString();
    const expiration = data("expiration");
    // An expiration that cannot be parsed counts as past.
    const endMs = expiration === "" ? Infinity : (parseTime(expiration) ?? -Infinity);
    return endMs > this.#clock.nowMs() && data("usage-bootstrap-authentication") === "true"
      ? data
      : undefined;
  }
}

function extraGroups(list: string): readonly string[] | undefined {
  const names = list === "" ? [] : list.split(",");
  return names.every((name) => extraGroupForm.test(name)) ? names : undefined;
}

function sameText(a: string, b: string): boolean {
  const left = Buffer.from(a);
  const right = Buffer.from(b);
  return left.length === right.length && timingSafeEqual(left, right);
}
