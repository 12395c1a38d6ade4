/** DenyServiceExternalIPs: new external addresses of Services are refused; existing ones may stay. */
import type { Service } from "#api/gen/types.ts";
import type { AdmissionPlugin } from "./admission.ts";
import { forbiddenError, isCore } from "./request.ts";

export const denyServiceExternalIPs: AdmissionPlugin = {
  name: "DenyServiceExternalIPs",
  validate(request) {
    if (!isCore(request, "services") || request.object === undefined) return;
    const wanted = (request.object as Service).spec?.externalIPs ?? [];
    const old = new Set((request.oldObject as Service | undefined)?.spec?.externalIPs);
    if (wanted.every((address) => old.has(address))) return;
    throw forbiddenError(request, "Use of external IPs is denied by admission control");
  },
};
