/**
 * LIST: bytes of many objects as shared blocks; Table, metadata and YAML forms are made per list.
 */
import type { AnyObject } from "#api/object.ts";
import { failure } from "#api/status.ts";
import type { PlainResponse } from "#platform/http.ts";
import type { ListPage } from "#registry/resource-store.ts";
import type { RequestContext } from "#server/context.ts";
import { type ItemForm, madeForm, protobufForm, storedForm } from "#server/list-body.ts";
import { type Negotiated, protobufType } from "#server/negotiate.ts";
import { bytesResponse, compressed, objectResponse } from "#server/respond.ts";
import { contentHeaders, formFor, goType } from "./answer.ts";
import { listQuery, type ListQuery } from "./list-options.ts";
import type { StoredKind } from "./stored-kind.ts";
import { includeObject, metadataType, partial, tableOf } from "./table.ts";

export async function listObjects(
  context: RequestContext,
  kind: StoredKind,
): Promise<PlainResponse> {
  const form = formFor(context, kind);
  const query = listQuery(kind.info, context.query, false, kind.selectableFields);
  const page = await kind.store.list(context.place.namespace, pageOptions(query));
  const response = answerList(context, kind, form, page);
  return compressed(context.request, response);
}

export function pageOptions(query: ListQuery): Parameters<StoredKind["store"]["list"]>[1] {
  return {
    ...(query.labels === undefined ? {} : { labels: query.labels }),
    ...(query.fields === undefined ? {} : { fields: query.fields }),
    resourceVersion: query.resourceVersion,
    resourceVersionMatch: query.resourceVersionMatch,
    limit: query.limit,
    ...(query.continue === "" ? {} : { continue: query.continue }),
  };
}

function answerList(
  context: RequestContext,
  kind: StoredKind,
  form: Negotiated,
  page: ListPage,
): PlainResponse {
  const direct = context.request.peer.kind === "direct";
  const json = form.mediaType === "application/json" && !form.pretty;
  const inBlocks = (json || form.mediaType === protobufType) && !direct;
  if (!inBlocks || form.transform?.kind === "Table") return answerWhole(context, kind, form, page);
  const head = listHeadOf(kind, form, page);
  const body = kind.blocks.body(head, page.items, itemForm(kind, form));
  return bytesResponse(200, body, form.mediaType, contentHeaders(form));
}

function itemForm(kind: StoredKind, form: Negotiated): ItemForm {
  const wanted = form.transform;
  if (form.mediaType === protobufType) return binaryForm(kind, wanted);
  if (wanted !== undefined) {
    const version = wanted.version;
    return madeForm(`pom.${version}`, (object) => partial(object, version));
  }
  if (kind.apiVersion === kind.storedApiVersion) return storedForm(kind.apiVersion, kind.info.kind);
  return madeForm(kind.apiVersion, (object) => kindless(kind.fromStored(object)));
}

function binaryForm(kind: StoredKind, wanted: Negotiated["transform"]): ItemForm {
  if (wanted === undefined) {
    const { apiVersion } = kind;
    const type = { apiVersion, kind: kind.info.kind };
    return protobufForm(`pb.${apiVersion}`, type, (cached) => kind.fromStored(cached.object));
  }
  const { version } = wanted;
  return protobufForm(`pb.pom.${version}`, metadataType(version), (cached) =>
    partial(cached.object, version),
  );
}

/** Items of a list of one kind do not repeat it. Direct callers get the shared objects as they are. */
export function kindless(object: AnyObject): object {
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
    return { apiVersion: kind.apiVersion, kind: `${kind.info.kind}List`, metadata };
  }
  if (wanted.kind === "PartialObjectMetadata") throw isList(kind);
  return { apiVersion: `meta.k8s.io/${wanted.version}`, kind: wanted.kind, metadata };
}

function isList(kind: StoredKind): Error {
  const text = `you requested PartialObjectMetadata, but the requested object is a list (*${goType(kind)}List)`;
  return failure(406, "NotAcceptable", text);
}

function listMetadata(page: ListPage): ListMetadata {
  return {
    resourceVersion: page.resourceVersion,
    ...(page.continue === undefined ? {} : { continue: page.continue }),
    ...(page.remainingItemCount === undefined
      ? {}
      : { remainingItemCount: page.remainingItemCount }),
  };
}

type ListMetadata = Pick<ListPage, "resourceVersion" | "continue" | "remainingItemCount">;

/** The whole list as one object: for direct callers, YAML, pretty JSON and tables. */
function answerWhole(
  context: RequestContext,
  kind: StoredKind,
  form: Negotiated,
  page: ListPage,
): PlainResponse {
  const wanted = form.transform;
  if (wanted?.kind === "Table") {
    const objects = page.items.map((item) => kind.fromStored(item.object));
    const options = { includeObject: includeObject(context.query), nowMs: context.nowMs };
    const shown = tableOf(kind, wanted.version, objects, { ...options, ...listMetadata(page) });
    return objectResponse(context.request, 200, shown, form, contentHeaders(form));
  }
  const direct = context.request.peer.kind === "direct";
  const show = (object: AnyObject): object => {
    if (wanted !== undefined) return partial(object, wanted.version);
    return direct ? kind.fromStored(object) : kindless(kind.fromStored(object));
  };
  const items = page.items.map((item) => show(item.object));
  const { apiVersion, kind: listKind, metadata } = listHeadOf(kind, form, page);
  const list = { kind: listKind, apiVersion, metadata, items };
  return objectResponse(context.request, 200, list, form, contentHeaders(form));
}
