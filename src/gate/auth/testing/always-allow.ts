/** An authorizer that allows everything, for tests of the steps after authorization. */
import type { Authorizer, ResourceRule } from "../auth.ts";

const everything: readonly ResourceRule[] = [
  { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
  { verbs: ["*"], nonResourceURLs: ["*"] },
];

export const alwaysAllow: Authorizer = {
  authorize: () => ({ allowed: true, denied: false, reason: "" }),
  rulesFor: () => ({ rules: everything, incomplete: false }),
};
