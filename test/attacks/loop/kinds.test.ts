/** See cases/kinds.ts. */
import { kindAttacks } from "./cases/kinds.ts";
import { runAttacks } from "./run-attacks.ts";

runAttacks("objects within the limits", kindAttacks);
