/** An audit trail for tests that keeps its events in memory. */
import { type AuditPolicy, metadataPolicy } from "../policy.ts";
import type { Audit } from "../trail.ts";

/** The fields of an event that tests read. */
export interface KeptEvent {
  readonly level: string;
  readonly auditID: string;
  readonly stage: string;
  readonly requestURI: string;
  readonly verb: string;
  readonly user: KeptUser;
  readonly impersonatedUser?: KeptUser;
  readonly authenticationMetadata?: { readonly impersonationConstraint: string };
  readonly sourceIPs?: readonly string[];
  readonly userAgent?: string;
  readonly objectRef?: Readonly<Record<string, string>>;
  readonly responseStatus?: { readonly code?: number; readonly message?: string };
  readonly requestObject?: object;
  readonly responseObject?: object;
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

interface KeptUser {
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
}

interface KeptAudit {
  readonly audit: Audit;
  readonly events: KeptEvent[];
}

/** `seen` is called with each event. */
export function keptAudit(
  policy: AuditPolicy = metadataPolicy,
  seen: (event: KeptEvent) => void = () => {},
): KeptAudit {
  const events: KeptEvent[] = [];
  const backend = {
    take(staged: { json(): string }): boolean {
      const event = JSON.parse(`{${staged.json()}}`) as KeptEvent; // our own text
      events.push(event);
      seen(event);
      return true;
    },
  };
  return { audit: { policy, backends: [backend] }, events };
}
