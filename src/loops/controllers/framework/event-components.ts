/** Event sources that differ from the controller's name in upstream, by service account. */
const others: ReadonlyMap<string, string> = new Map([
  ["disruption-controller", "controllermanager"],
  ["ephemeral-volume-controller", "ephemeral_volume"],
  ["expand-controller", "volume_expand"],
  ["resource-claim-controller", "resource_claim"],
  ["generic-garbage-collector", "garbage-collector-controller"],
]);

export function eventComponent(account: string, name: string): string {
  return others.get(account) ?? name;
}
