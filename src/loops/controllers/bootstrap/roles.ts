/** Service accounts of the bootstrap token controllers, which have rights in two namespaces only. */
import type { ControllerRole } from "../framework/role.ts";

export const bootstrapSignerRole: ControllerRole = { account: "bootstrap-signer", rules: [] };

export const tokenCleanerRole: ControllerRole = { account: "token-cleaner", rules: [] };
