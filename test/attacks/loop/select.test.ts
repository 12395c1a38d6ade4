/** See cases/select.ts. */
import { selectAttacks } from "./cases/select.ts";
import { runAttacks } from "./run-attacks.ts";

runAttacks("selectors", selectAttacks);
