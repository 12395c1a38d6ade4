/**
 * Converts Events between core/v1 and events.k8s.io/v1: one object under two sets of field names. Both
 * groups share one storage, so every field has a counterpart and nothing is lost.
 */
import { ownEntry } from "#base/own.ts";
import type { AnyObject } from "../object.ts";

const eventsNames: Readonly<Record<string, string>> = {
  involvedObject: "regarding",
  message: "note",
  source: "deprecatedSource",
  firstTimestamp: "deprecatedFirstTimestamp",
  lastTimestamp: "deprecatedLastTimestamp",
  count: "deprecatedCount",
  reportingComponent: "reportingController",
};
const coreNames: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(eventsNames).map(([core, events]) => [events, core]),
);

export function eventToEventsV1(object: AnyObject): AnyObject {
  return { ...renameFields(object, eventsNames), apiVersion: "events.k8s.io/v1" };
}

export function eventToCoreV1(object: AnyObject): AnyObject {
  return { ...renameFields(object, coreNames), apiVersion: "v1" };
}

function renameFields(object: AnyObject, names: Readonly<Record<string, string>>): AnyObject {
  return Object.fromEntries(
    Object.entries(object).map(([field, value]) => [ownEntry(names, field) ?? field, value]),
  );
}
