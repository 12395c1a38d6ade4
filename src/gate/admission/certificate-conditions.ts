/**
 * Sets the times of a certificate request's conditions, as upstream does in its storage. A condition without times was
 * updated now; its transition time is that of the stored condition with the same type and status, if there is one.
 */
import type { AnyObject } from "#api/object.ts";
import { formatTime } from "#api/values/time.ts";
import type { Fields } from "#api/validation/fields.ts";
import { items, part, text } from "#api/validation/fields.ts";
import type { Clock } from "#platform/clock.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { isSubresource } from "./request.ts";

export function certificateConditions(deps: { readonly clock: Clock }): AdmissionPlugin {
  return {
    name: "CertificateConditions",
    mutate(request: AdmissionRequest): AnyObject {
      const { object = {}, oldObject = {} } = request;
      if (!["approval", "status"].some((name) => isOf(request, name))) return object;
      const status = part(object, "status");
      const given = items(status, "conditions");
      if (given.length === 0) return object;
      const now = formatTime(deps.clock.nowMs());
      const before = items(part(oldObject, "status"), "conditions");
      const conditions = given.map((condition) => withTimes(condition, before, now));
      return { ...object, status: { ...status, conditions } };
    },
  };
}

function isOf(request: AdmissionRequest, subresource: string): boolean {
  return isSubresource(request, "certificates.k8s.io", "certificatesigningrequests", subresource);
}

function withTimes(condition: Fields, before: readonly Fields[], now: string): Fields {
  const same = before.find(
    (old) =>
      text(old, "type") === text(condition, "type") &&
      text(old, "status") === text(condition, "status") &&
      text(old, "lastTransitionTime") !== "",
  );
  const changed = same === undefined ? now : text(same, "lastTransitionTime");
  return {
    ...condition,
    lastUpdateTime: text(condition, "lastUpdateTime") || now,
    lastTransitionTime: text(condition, "lastTransitionTime") || changed,
  };
}
