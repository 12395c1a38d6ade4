/**
 * resource.k8s.io/v1beta1 and v1 differ in two shapes. The device fields of a request are in the request
 * itself in v1beta1 and under `exactly` in v1; the devices of a slice are wrapped in `basic` in v1beta1.
 */
import { isRecord } from "#base/is-record.ts";
import type { AnyObject } from "../object.ts";

type Bag = Readonly<Record<string, unknown>>;
type Change = (value: Bag) => Bag;

/** Fields that a v1beta1 request has at the top and v1 under `exactly`. */
const exactFields = [
  "deviceClassName",
  "selectors",
  "allocationMode",
  "count",
  "adminAccess",
  "tolerations",
  "capacity",
];

export function claimToV1(claim: AnyObject): AnyObject {
  return withVersion(claim, "v1", at(["spec", "devices"], requests(requestToV1)));
}

export function claimToV1beta1(claim: AnyObject): AnyObject {
  return withVersion(claim, "v1beta1", at(["spec", "devices"], requests(requestToV1beta1)));
}

export function claimTemplateToV1(template: AnyObject): AnyObject {
  return withVersion(template, "v1", at(["spec", "spec", "devices"], requests(requestToV1)));
}

export function claimTemplateToV1beta1(template: AnyObject): AnyObject {
  const change = at(["spec", "spec", "devices"], requests(requestToV1beta1));
  return withVersion(template, "v1beta1", change);
}

export function sliceToV1(slice: AnyObject): AnyObject {
  return withVersion(slice, "v1", at(["spec"], list("devices", deviceToV1)));
}

export function sliceToV1beta1(slice: AnyObject): AnyObject {
  return withVersion(slice, "v1beta1", at(["spec"], list("devices", deviceToV1beta1)));
}

function withVersion(object: AnyObject, version: string, change: Change): AnyObject {
  return { ...change(object as Bag), apiVersion: `resource.k8s.io/${version}` } as AnyObject;
}

/** Applies `change` to the value at `path`; objects without it are unchanged. */
function at(path: readonly string[], change: Change): Change {
  const [first, ...rest] = path;
  if (first === undefined) return change;
  return (value) => {
    const inner = value[first];
    if (!isRecord(inner)) return value;
    return { ...value, [first]: at(rest, change)(inner) };
  };
}

function list(field: string, change: Change): Change {
  return (value) => {
    const items = value[field];
    if (!Array.isArray(items)) return value;
    return { ...value, [field]: items.map((item) => (isRecord(item) ? change(item) : item)) };
  };
}

function requests(change: Change): Change {
  return list("requests", change);
}

function requestToV1(request: Bag): Bag {
  const exact = Object.entries(request).filter(([key]) => exactFields.includes(key));
  const others = Object.entries(request).filter(([key]) => !exactFields.includes(key));
  if (exact.length === 0) return request;
  return { ...Object.fromEntries(others), exactly: Object.fromEntries(exact) };
}

function requestToV1beta1(request: Bag): Bag {
  const { exactly, ...others } = request;
  return isRecord(exactly) ? { ...others, ...exactly } : request;
}

function deviceToV1(device: Bag): Bag {
  const { basic, ...others } = device;
  return isRecord(basic) ? { ...others, ...basic } : others;
}

function deviceToV1beta1({ name, ...basic }: Bag): Bag {
  return { name, basic };
}
