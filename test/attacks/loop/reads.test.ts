/** See cases/reads.ts. */
import { readAttacks } from "./cases/reads.ts";
import { runAttacks } from "./run-attacks.ts";

runAttacks("answers", readAttacks);
