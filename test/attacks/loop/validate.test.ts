/** See cases/validate.ts. */
import { validateAttacks } from "./cases/validate.ts";
import { runAttacks } from "./run-attacks.ts";

runAttacks("validation and admission", validateAttacks);
