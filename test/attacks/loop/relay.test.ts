/** See cases/relay.ts. */
import { relayAttacks } from "./cases/relay.ts";
import { runAttacks } from "./run-attacks.ts";

runAttacks("the relay", relayAttacks);
