/**
 * LIST: answers with the bytes of many objects as shared blocks. Table, metadata and YAML forms are made for each list.
 */
import type { AnyObject } from "#api/object.ts";
import { given } from "#base/given.ts";
import type { PlainResponse } from "#platform/http.ts";
import type { ListPage } from "#registry/resource-store.ts";
import { charge } from "#server/charges.ts";
import type { RequestContext } from "#server/context.ts";
import { type ItemForm, madeForm, protobufForm, storedForm, wholeItem } from "#forms/list-body.ts";
import { type Negotiated, protobufType } from "#forms/negotiate.ts";
import { bytesResponse, compressBody } from "#server/respond.ts";
import { isLongList, wholeList } from "#server/whole-list.ts";
import { explainRead, listIndex } from "./explain-read.ts";
import { contentHeaders, formFor, isList } from "./answer.ts";
import { listQuery, type ListQuery } from "./list-options.ts";
import { listPage } from "./shown-selection.ts";
import type { CachedObject } from "#forms/cached-object.ts";
import type { StoredKind } from "./stored-kind.ts";
import {
  includeObject,
  metadataKey,
  metadataType,
  type MetaVersion,
  partialOf,
  rowMaker,
  tableOf,
} from "./table.ts";

export async function handleList(
  context: RequestContext,
  kind: StoredKind,
): Promise<PlainResponse> {
  const form = formFor(context, kind);
  const query = listQuery(kind.resource, context.query, false, kind.selectableFields);
  const options = { ...pageOptions(query), pace: context.pace };
  const page = await listPage(kind, context.place.namespace, query, options);
  explainRead(context, page.isFromStore === true ? "store" : "cache", listIndex(context, query));
  const response = await answerList(context, kind, form, page);
  return compressBody(context.request, response, context.holding);
}

export function pageOptions(query: ListQuery): Parameters<StoredKind["store"]["list"]>[1] {
  return {
    ...given({ labels: query.labels, fields: query.fields }),
    resourceVersion: query.resourceVersion,
    resourceVersionMatch: query.resourceVersionMatch,
    limit: query.limit,
    ...(query.continue === "" ? {} : { continue: query.continue }),
  };
}

/** Bytes of two references per item: one in the page, one in its blocks. */
const snapshotBytesPerItem = 16;

export async function answerList(
  context: RequestContext,
  kind: StoredKind,
  form: Negotiated,
  page: ListPage,
): Promise<PlainResponse> {
  charge(context.holding, "snapshot", page.items.length * snapshotBytesPerItem);
  if (kind.prepared === undefined) return answerShown(context, kind, form, page);
  using _held = await kind.prepared.hold(page.items);
  return await answerShown(context, kind, form, page);
}

async function answerShown(
  context: RequestContext,
  kind: StoredKind,
  form: Negotiated,
  page: ListPage,
): Promise<PlainResponse> {
  const direct = context.request.peer.kind === "direct";
  const json = form.mediaType === "application/json" && !form.isPretty;
  const inBlocks = (json || form.mediaType === protobufType) && !direct;
  if (!inBlocks || form.transform?.kind === "Table") return answerWhole(context, kind, form, page);
  const head = listHeadOf(kind, form, page);
  const body = await kind.blocks.bodyInTurns(head, page.items, itemForm(kind, form), context.pace);
  return { ...bytesResponse(200, body, form.mediaType, contentHeaders(form)), isShared: true };
}

function itemForm(kind: StoredKind, form: Negotiated): ItemForm {
  const wanted = form.transform;
  if (form.mediaType === protobufType) return binaryForm(kind, wanted);
  if (wanted !== undefined) {
    const version = wanted.version;
    return madeForm(metadataKey(kind, version), (cached) => partialOf(kind, cached, version));
  }
  if (kind.custom !== undefined) return customForm(kind);
  const stored = storedForm(kind.apiVersion, kind.resource.kind);
  const made = madeForm(kind.formKey, (cached) => kindless(kind.show(cached)));
  const bytes = (cached: CachedObject): Uint8Array =>
    kind.isAsStored(cached) ? stored.bytes(cached) : made.bytes(cached);
  return { key: kind.formKey, layout: "json", bytes };
}

/** Form of custom objects in a list: they have their kind and version, as upstream. */
function customForm(kind: StoredKind): ItemForm {
  const made = madeForm(kind.formKey, (cached) => kind.show(cached));
  // The kind keeps converted bytes itself.
  const isKept = kind.prepared !== undefined;
  const bytes = (cached: CachedObject): Uint8Array =>
    isKept || kind.isAsStored(cached) ? kind.json(cached) : made.bytes(cached);
  return { key: kind.formKey, layout: "json", bytes };
}

function binaryForm(kind: StoredKind, wanted: Negotiated["transform"]): ItemForm {
  if (wanted === undefined) {
    const { apiVersion } = kind;
    const type = { apiVersion, kind: kind.resource.kind };
    return protobufForm(`pb.${apiVersion}`, type, (cached) => kind.show(cached));
  }
  const { version } = wanted;
  return protobufForm(`pb.${metadataKey(kind, version)}`, metadataType(version), (cached) =>
    partialOf(kind, cached, version),
  );
}

/** Removes kind and version, which items of a list of one kind do not repeat; direct callers get the objects unchanged. */
function kindless(object: AnyObject): object {
  const { kind: _, apiVersion: __, ...rest } = object;
  return rest;
}

function listHeadOf(
  kind: StoredKind,
  form: Negotiated,
  page: ListPage,
): { apiVersion: string; kind: string; metadata: object } {
  const metadata = listMetadata(page);
  const wanted = form.transform;
  if (wanted === undefined) {
    const { continue: token = "" } = metadata;
    const own = kind.custom === undefined ? metadata : { ...metadata, continue: token };
    return { apiVersion: kind.apiVersion, kind: listKindOf(kind), metadata: own };
  }
  if (wanted.kind === "PartialObjectMetadata") throw isList(kind);
  return { apiVersion: `meta.k8s.io/${wanted.version}`, kind: wanted.kind, metadata };
}

function listMetadata(page: ListPage): ListMetadata {
  return {
    resourceVersion: page.resourceVersion,
    ...given({ continue: page.continue, remainingItemCount: page.remainingItemCount }),
  };
}

function listKindOf({ resource }: StoredKind): string {
  return resource.listKind ?? `${resource.kind}List`;
}

type ListMetadata = Pick<ListPage, "resourceVersion" | "continue" | "remainingItemCount">;

/** Answers with a list made for this request: for direct callers, YAML, indented JSON and tables. */
async function answerWhole(
  context: RequestContext,
  kind: StoredKind,
  form: Negotiated,
  page: ListPage,
): Promise<PlainResponse> {
  const wanted = form.transform;
  if (wanted?.kind === "Table") return answerTable(context, kind, form, page, wanted.version);
  if (context.request.peer.kind === "direct") return answerDirect(context, kind, page);
  const show = (cached: CachedObject): object => {
    if (wanted !== undefined) return partialOf(kind, cached, wanted.version);
    const whole = kind.show(cached);
    return kind.custom === undefined ? kindless(whole) : whole;
  };
  const { apiVersion, kind: listKind, metadata } = listHeadOf(kind, form, page);
  const head = { kind: listKind, apiVersion, metadata, items: [] };
  const own = form.mediaType === "application/json" ? itemForm(kind, form) : undefined;
  const json = own && ((cached: CachedObject) => wholeItem(own, cached));
  return answerEntries(context, form, head, "items", page, { show, json });
}

function answerTable(
  context: RequestContext,
  kind: StoredKind,
  form: Negotiated,
  page: ListPage,
  version: MetaVersion,
): Promise<PlainResponse> {
  const include = includeObject(context.query);
  const options = { includeObject: include, nowMs: context.nowMs, ...listMetadata(page) };
  const head = tableOf(kind, version, [], options);
  const row = rowMaker(kind, version, options);
  return answerEntries(context, form, head, "rows", page, {
    show: (cached) => row(kind.show(cached)),
  });
}

interface Shown {
  readonly show: (cached: CachedObject) => object;
  /** Bytes of the object, if readers of the compact list have them. */
  readonly json?: ((cached: CachedObject) => Uint8Array) | undefined;
}

async function answerEntries(
  context: RequestContext,
  form: Negotiated,
  head: object,
  field: string,
  { items }: ListPage,
  { show, json }: Shown,
): Promise<PlainResponse> {
  // Indexes are always within the page.
  const itemAt = (at: number): CachedObject => items[at] as CachedObject;
  const entries = {
    count: items.length,
    isLong: isLongList(items),
    entry: (at: number) => show(itemAt(at)),
    ...(json !== undefined && { json: (at: number) => json(itemAt(at)) }),
  };
  const body = await wholeList(head, field, entries, form, context.pace, context.holding);
  return bytesResponse(200, body, form.mediaType, contentHeaders(form));
}

/** Number of objects given to a direct caller per turn; each is parsed at first use. */
const directPerTurn = 512;

async function answerDirect(
  context: RequestContext,
  kind: StoredKind,
  page: ListPage,
): Promise<PlainResponse> {
  const items: AnyObject[] = [];
  for (const item of page.items) {
    items.push(kind.show(item));
    if (items.length % directPerTurn === 0) await context.pace.turn();
  }
  const { apiVersion } = kind;
  const object = { kind: listKindOf(kind), apiVersion, metadata: listMetadata(page), items };
  return { kind: "object", status: 200, headers: {}, object };
}
