/** Decides about one Secret with a legacy token. Days are in UTC, like the labels. Pure. */
import type { Secret, ServiceAccount } from "#api/gen/types.ts";
import { parseTime } from "#api/values/time.ts";

export const dayMs = 86_400_000;
export const invalidSinceLabel = "kubernetes.io/legacy-token-invalid-since";
const lastUsedLabel = "kubernetes.io/legacy-token-last-used";

type TokenPlan =
  | { readonly kind: "keep" }
  /** `day`: the day from which on the token is invalid. */
  | { readonly kind: "mark"; readonly day: string }
  | { readonly kind: "delete" };

interface Around {
  /** The account named by the Secret, if it exists. */
  readonly account: ServiceAccount | undefined;
  /** Called last, because it checks every pod of the namespace. */
  isMounted(): boolean;
  readonly nowMs: number;
  readonly periodMs: number;
}

const keep: TokenPlan = { kind: "keep" };

export function planToken(secret: Secret, around: Around): TokenPlan {
  const { nowMs, periodMs } = around;
  const { labels, creationTimestamp, deletionTimestamp } = secret.metadata ?? {};
  const oldest = formatDay(nowMs - periodMs);
  const madeMs = parseTime(creationTimestamp) ?? nowMs;
  if (deletionTimestamp !== undefined || madeMs >= nowMs - periodMs) return keep;
  const used = labels?.[lastUsedLabel];
  if (used !== undefined && (dayOf(used) === undefined || used >= oldest)) return keep;
  if (!isAutomatic(secret, around.account) || around.isMounted()) return keep;
  const invalid = labels?.[invalidSinceLabel];
  if (invalid === undefined || dayOf(invalid) === undefined)
    return { kind: "mark", day: formatDay(nowMs) };
  return invalid >= oldest ? keep : { kind: "delete" };
}

/** Whether the account lists the Secret, which is not the case for manually created tokens. */
function isAutomatic({ metadata }: Secret, account: ServiceAccount | undefined): boolean {
  const uid = metadata?.annotations?.["kubernetes.io/service-account.uid"] ?? "";
  if (account === undefined || (uid !== "" && uid !== account.metadata?.uid)) return false;
  return (account.secrets ?? []).some(({ name }) => name === metadata?.name);
}

/** Milliseconds of a day such as `2026-01-02`; undefined: the text is not a day. */
export function dayOf(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined;
  return parseTime(`${text}T00:00:00Z`);
}

function formatDay(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 10);
}
