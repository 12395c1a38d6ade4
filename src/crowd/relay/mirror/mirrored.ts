/** One mirrored resource with everything that its readers share. */
import { printerFor } from "#api/printers/printers.ts";
import type { Printer } from "#api/printers/printer.ts";
import type { Clock } from "#platform/clock.ts";
import { ListBlocks } from "#forms/list-body.ts";
import { BodyMemo } from "../kubernetes/body-memo.ts";
import { Freshness } from "./freshness.ts";
import type { RelayLimits } from "../limits.ts";
import type { Mirror } from "./mirror.ts";
import { isBuiltin, type MirroredKind } from "./mirrored-kind.ts";
import type { Upstream } from "./upstream.ts";
import { Views } from "../views/views.ts";

export interface Mirrored {
  readonly kind: MirroredKind;
  readonly mirror: Mirror;
  readonly upstream: Upstream;
  readonly freshness: Freshness;
  readonly blocks: ListBlocks;
  readonly bodies: BodyMemo;
  readonly views: Views;
  /** Printer of built-in kinds and of custom ones with a known definition. Undefined: only the upstream knows the columns. */
  readonly printer: Printer | undefined;
}

export function createMirrored(
  deps: { readonly clock: Clock; readonly upstream: Upstream; readonly signal: AbortSignal },
  limits: RelayLimits,
): Mirrored {
  const { upstream } = deps;
  const { mirror } = upstream;
  const { kind } = mirror;
  const builtin = isBuiltin(kind);
  const blocks = new ListBlocks();
  return {
    kind,
    mirror,
    upstream,
    freshness: new Freshness(deps, limits),
    blocks,
    bodies: new BodyMemo(limits),
    views: new Views({ clock: deps.clock, mirror }, limits),
    printer: builtin ? printerFor(kind.group, kind.resource) : kind.custom?.printer,
  };
}
