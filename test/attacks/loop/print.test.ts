/** See cases/print.ts. */
import { printAttacks } from "./cases/print.ts";
import { runAttacks } from "./run-attacks.ts";

runAttacks("printers", printAttacks);
