/** See cases/protobuf.ts. */
import { protobufAttacks } from "./cases/protobuf.ts";
import { runAttacks } from "./run-attacks.ts";

runAttacks("protobuf", protobufAttacks);
