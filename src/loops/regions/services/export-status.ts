/** Builds the conditions of a ServiceExport and of a ServiceImport. */
import { withCondition, withoutCondition, type Condition } from "#client/conditions.ts";
import { verdictOf, type ExportedService } from "./exported-service.ts";
import type { MergedService } from "./merge-exports.ts";

/** `merged` undefined: no export of that name is valid. */
export function exportConditions(
  { object, service }: ExportedService,
  merged: MergedService | undefined,
  nowText: string,
): readonly Condition[] {
  const verdict = verdictOf(service);
  const old = object.status?.conditions;
  const condition = (type: string, isTrue: boolean, reason: string, message = ""): Condition => ({
    type,
    status: isTrue ? "True" : "False",
    reason,
    message,
    lastTransitionTime: nowText,
  });
  const valid = withCondition(
    old,
    condition("Valid", verdict.isValid, verdict.reason, verdict.message),
  );
  if (!verdict.isValid || merged === undefined) {
    const why = "the export is not valid";
    return withoutCondition(
      withCondition(valid, condition("Ready", false, "Pending", why)),
      "Conflict",
    );
  }
  const { reasons, message } = merged.conflict;
  const reason = reasons.length === 0 ? "NoConflicts" : reasons.join(",");
  const conflict = condition("Conflict", reasons.length > 0, reason, message);
  return withCondition(withCondition(valid, condition("Ready", true, "Exported")), conflict);
}

/** An import is ready when it has an address or needs none. */
export function importConditions(
  old: readonly Condition[] | undefined,
  isReady: boolean,
  nowText: string,
): readonly Condition[] {
  return withCondition(old, {
    type: "Ready",
    status: isReady ? "True" : "False",
    reason: isReady ? "Ready" : "Pending",
    message: isReady ? "" : "the address is not allocated yet",
    lastTransitionTime: nowText,
  });
}
