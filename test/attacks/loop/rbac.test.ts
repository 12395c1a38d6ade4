/** See cases/rbac.ts. */
import { rbacAttacks } from "./cases/rbac.ts";
import { runAttacks } from "./run-attacks.ts";

runAttacks("rights", rbacAttacks);
