/** A ledger with limits that no test reaches, except the limits that a test sets. */
import { Ledger, type LedgerLimits } from "../ledger.ts";

export function roomyLedger(limits: Partial<LedgerLimits> = {}): Ledger {
  return new Ledger({
    callerBytesMax: 2 ** 40,
    namespaceBytesMax: 2 ** 40,
    totalBytesMax: 2 ** 42,
    reservedBytes: 2 ** 40,
    smallBytesMax: 2 ** 20,
    sharedAnswerBytesMax: 2 ** 30,
    accountsMax: 1_000,
    ...limits,
  });
}
