/** The service accounts of the loops over bootstrap tokens: they have rights in two namespaces alone. */
import type { ControllerRole } from "../framework/role.ts";

export const bootstrapSignerRole: ControllerRole = { account: "bootstrap-signer", rules: [] };

export const tokenCleanerRole: ControllerRole = { account: "token-cleaner", rules: [] };
