/** See cases/control.ts. */
import { controlAttacks } from "./cases/control.ts";
import { runAttacks } from "./run-attacks.ts";

runAttacks("controllers", controlAttacks);
