/** See cases/decode.ts. */
import { decodeAttacks } from "./cases/decode.ts";
import { runAttacks } from "./run-attacks.ts";

runAttacks("bodies", decodeAttacks);
