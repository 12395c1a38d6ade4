/**
 * The rights of a controller's service account: the ClusterRole `system:controller:ACCOUNT`, bound to the account in
 * kube-system. The API server writes the roles of all controllers at its start.
 */
export interface ControllerRole {
  /** Upstream's name of the service account. */
  readonly account: string;
  /**
   * `verbs | groups | resources [| names]`, each a list with commas. `core` is the group "", `read` is
   * get, list and watch, `events` alone the rule to write events. They are upstream's, in its order.
   * Empty: all its rights are in namespaces (`auth/bootstrap-controller-roles.ts`).
   */
  readonly rules: readonly string[];
  /** Why upstream has no such controller. Its role is excluded from the comparison with a stock server's policy. */
  readonly notUpstream?: string;
}
