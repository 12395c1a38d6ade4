/** See cases/policies.ts. */
import { after } from "node:test";
import { closeWebhookServer, policyAttacks } from "./cases/policies.ts";
import { runAttacks } from "./run-attacks.ts";

after(() => closeWebhookServer());
runAttacks("policies and webhooks", policyAttacks);
