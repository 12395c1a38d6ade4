/** See cases/definitions.ts. */
import { definitionAttacks } from "./cases/definitions.ts";
import { runAttacks } from "./run-attacks.ts";

runAttacks("custom resources and their definitions", definitionAttacks);
