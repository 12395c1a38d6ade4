/** Makes one line of an audit log, as an API server writes it. */
export function auditEvent(fields: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({
    kind: "Event",
    apiVersion: "audit.k8s.io/v1",
    stage: "ResponseComplete",
    requestURI: "/api/v1/pods",
    userAgent: "agent/1",
    user: { username: "eve" },
    objectRef: { resource: "pods", apiVersion: "v1" },
    requestReceivedTimestamp: "2026-01-02T03:00:00.000000Z",
    ...fields,
  });
}
