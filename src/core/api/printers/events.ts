/** Events of either group, as core/v1 shows them. */
import { convert } from "../convert/convert.ts";
import type { Event } from "../gen/types.ts";
import type { AnyObject } from "../object.ts";
import { ageOf, parseTime } from "../values/time.ts";
import { column, nameColumn, nameOf, printer, text, wideText } from "./printer.ts";
import type { Cell, Printer } from "./printer.ts";

const inCore: Printer = printer<Event>(
  [
    text("Last Seen", "How long ago it last happened."),
    text("Type", "Whether it is a warning."),
    text("Reason", "What happened, in one word."),
    text("Object", "What it happened to."),
    wideText("Subobject", "The part of the object it happened to."),
    wideText("Source", "Who reports it."),
    text("Message", "What happened, in a sentence."),
    wideText("First Seen", "How long ago it first happened."),
    wideText("Count", "How often it happened."),
    column("Name", "string", nameColumn.description, { wide: true, format: "name" }),
  ],
  eventRow,
);

export const events: Printer = {
  columns: inCore.columns,
  row: (object: AnyObject, nowMs: number) => inCore.row(convert(object, "v1"), nowMs),
};

function eventRow(event: Event, nowMs: number): readonly Cell[] {
  const { involvedObject: subject, series } = event;
  const first = ageOf(known(event.firstTimestamp) ?? event.eventTime, nowMs);
  const last = known(event.lastTimestamp);
  const kind = (subject.kind ?? "").toLowerCase();
  return [
    series === undefined
      ? last === undefined
        ? first
        : ageOf(last, nowMs)
      : ageOf(series.lastObservedTime, nowMs),
    event.type ?? "",
    event.reason ?? "",
    subject.name ? `${kind}/${subject.name}` : kind,
    subject.fieldPath ?? "",
    eventSource(event),
    (event.message ?? "").trim(),
    first,
    series?.count ?? (event.count || 1),
    nameOf(event),
  ];
}

function known(time: string | null | undefined): string | undefined {
  return parseTime(time) === undefined ? undefined : (time ?? undefined);
}

function eventSource(event: Event): string {
  const component = event.source?.component || event.reportingComponent || "";
  const host = event.source?.host || event.reportingInstance || "";
  return host === "" ? component : `${component}, ${host}`;
}
