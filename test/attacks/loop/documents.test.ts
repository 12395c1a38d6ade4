/** See cases/documents.ts. */
import { documentAttacks } from "./cases/documents.ts";
import { runAttacks } from "./run-attacks.ts";

runAttacks("documents", documentAttacks);
