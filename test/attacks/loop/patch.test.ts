/** See cases/patch.ts. */
import { patchAttacks } from "./cases/patch.ts";
import { runAttacks } from "./run-attacks.ts";

runAttacks("patches", patchAttacks);
