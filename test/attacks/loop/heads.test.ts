/** See cases/heads.ts. */
import { headAttacks } from "./cases/heads.ts";
import { runAttacks } from "./run-attacks.ts";

runAttacks("heads and reviews", headAttacks);
