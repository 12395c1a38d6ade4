/** Informers through kills of the plane and of a relay: `client-drill.ts` as a command. See `usage`. */
import { flagsOf } from "../bench/flags.ts";
import { clientDrill } from "./client-drill.ts";

const usage = `npm run soak -- client [flags]

  --restarts 50   the plane is killed and started again so often, and so is the relay
  --help          this

Prints the counts as JSON. Ends with 1 when a copy, or what handlers saw, is not what the server lists.
`;

const report = await clientDrill(flagsOf(usage, { restarts: "50" }).number("restarts"));
console.log(JSON.stringify(report));
process.exit(report.missed.length === 0 ? 0 : 1);
