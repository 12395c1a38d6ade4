/** The named formats of `format.…()`: the errors that each reports for a text, in upstream's words. */
import {
  dns1035LabelErrors,
  dnsLabelName,
  dnsSubdomainName,
  maskTrailingDash,
} from "#api/names.ts";
import { labelValueErrors, qualifiedNameErrors } from "#api/selectors/label-syntax.ts";
import { UrlError, parseRequestUri } from "./go-url.ts";

export interface NamedFormat {
  /** Equal for formats that are aliases; not the name in the call. */
  readonly name: string;
  readonly findErrors: (text: string) => readonly string[];
  /** Length of the pattern assumed by the cost. */
  readonly patternLength: number;
}

function label1035Errors(text: string, prefix: boolean): string[] {
  return dns1035LabelErrors(prefix ? maskTrailingDash(text) : text);
}

const uuidPattern = "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
/** Only its length is used, also for dates. */
const datetimePattern = "^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$";
const uuid = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const clock = /^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$/u;

export const namedFormats: Readonly<Record<string, NamedFormat>> = {
  dns1123Label: {
    name: "DNS1123Label",
    findErrors: (text) => dnsLabelName(text, false),
    patternLength: 30,
  },
  dns1123Subdomain: {
    name: "DNS1123Subdomain",
    findErrors: (text) => dnsSubdomainName(text, false),
    patternLength: 60,
  },
  dns1035Label: {
    name: "DNS1035Label",
    findErrors: (text) => label1035Errors(text, false),
    patternLength: 30,
  },
  qualifiedName: { name: "QualifiedName", findErrors: qualifiedNameErrors, patternLength: 60 },
  dns1123LabelPrefix: {
    name: "DNS1123LabelPrefix",
    findErrors: (text) => dnsLabelName(text, true),
    patternLength: 30,
  },
  dns1123SubdomainPrefix: {
    name: "DNS1123SubdomainPrefix",
    findErrors: (text) => dnsSubdomainName(text, true),
    patternLength: 60,
  },
  dns1035LabelPrefix: {
    name: "DNS1035LabelPrefix",
    findErrors: (text) => label1035Errors(text, true),
    patternLength: 30,
  },
  labelValue: { name: "LabelValue", findErrors: labelValueErrors, patternLength: 40 },
  uri: { name: "URI", findErrors: findUriErrors, patternLength: 1103 },
  uuid: {
    name: "uuid",
    findErrors: (text) => (uuid.test(text) ? [] : ["does not match the UUID format"]),
    patternLength: uuidPattern.length,
  },
  byte: {
    name: "byte",
    findErrors: (text) => (isBase64(text) ? [] : ["invalid base64"]),
    patternLength: 84,
  },
  date: {
    name: "date",
    findErrors: (text) => (isDate(text) ? [] : ["invalid date"]),
    patternLength: datetimePattern.length,
  },
  datetime: {
    name: "datetime",
    findErrors: (text) => (isDatetime(text) ? [] : ["invalid datetime"]),
    patternLength: datetimePattern.length,
  },
};

function findUriErrors(text: string): string[] {
  try {
    parseRequestUri(text);
    return [];
  } catch (error) {
    if (error instanceof UrlError) return [error.message];
    throw error;
  }
}

/** Padded base64 of at least one byte. */
function isBase64(text: string): boolean {
  return text !== "" && text.length % 4 === 0 && /^[A-Za-z0-9+/]{2,}={0,2}$/.test(text);
}

function isDate(text: string): boolean {
  const match = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/.exec(text);
  if (match === null) return false;
  const [year, month, day] = match.slice(1).map(Number);
  if (year === undefined || month === undefined || day === undefined) return false;
  return month >= 1 && month <= 12 && day >= 1 && day <= daysOf(year, month);
}

function daysOf(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

/** As upstream, text after a second `t` is ignored. */
function isDatetime(text: string): boolean {
  const [date = "", time] = text.toLowerCase().split("t");
  if (time === undefined || !isDate(date)) return false;
  const match = clock.exec(time);
  if (match === null) return false;
  const [, hours = "", minutes = "", seconds = ""] = match;
  return hours <= "23" && minutes <= "59" && seconds <= "59";
}
