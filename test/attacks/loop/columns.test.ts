/** See cases/columns.ts. */
import { columnAttacks } from "./cases/columns.ts";
import { runAttacks } from "./run-attacks.ts";

runAttacks("columns of custom resources", columnAttacks);
