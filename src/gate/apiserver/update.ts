/**
 * PUT of an object or of its subresource: the body replaces the stored object under the rules of the kind's strategy.
 * All updates (PUT, PATCH, apply) reach the registry through `writeThrough`.
 */
import type { Admission, AdmissionRequest } from "#admission/admission.ts";
import type { AnyObject } from "#api/object.ts";
import { badRequest } from "#api/status.ts";
import type { PlainResponse } from "#platform/http.ts";
import type { Holding } from "#platform/ledger.ts";
import type { UpdateResult } from "#registry/resource-store.ts";
import { charge } from "#server/charges.ts";
import type { RequestContext } from "#server/context.ts";
import type { Place } from "#server/place.ts";
import { authorizationError } from "#auth/forbidden.ts";
import { admissionRequest } from "./admission-request.ts";
import { answerCached, formFor } from "./answer.ts";
import { readObject } from "./body.ts";
import { refuseWhileTerminating, setNamespace, withoutRepeatedOwners } from "./create.ts";
import type { ApiDeps } from "./deps.ts";
import { keepManagedFields } from "./kept-managers.ts";
import { trackManagedFields } from "./managed.ts";
import { noteObject } from "./request-note.ts";
import type { StoredKind } from "./stored-kind.ts";
import { writeOptions, type WriteQuery, writeQuery } from "./write-options.ts";

export async function handleUpdate(
  deps: ApiDeps,
  context: RequestContext,
  kind: StoredKind,
): Promise<PlainResponse> {
  const form = formFor(context, kind);
  const query = writeQuery("UpdateOptions", context.query);
  const sent = await readObject(context, kind, deps.bodies, query.fieldValidation);
  noteObject(context, sent);
  const object = withoutRepeatedOwners(context, requireSameName(sent, kind, context.place));
  await context.pace.step();
  const createIfMissing = kind.allowCreateOnUpdate && context.requestInfo.subresource === "";
  const result = await writeThrough(deps, context, kind, query, {
    subresource: context.requestInfo.subresource,
    createIfMissing,
    next: () => ({ object, tracked: false }),
  });
  return answerCached(context, kind, form, result.isCreated ? 201 : 200, result.object);
}

interface NextObject {
  /** The object in the version of the request. */
  readonly object: AnyObject;
  /** Whether managedFields are already right or need no update. */
  readonly tracked: boolean;
}

interface Write {
  readonly subresource: string;
  readonly createIfMissing: boolean;
  /** Whether admission has already allowed the request that causes this write: a Binding. */
  readonly isAdmitted?: boolean;
  /** Makes the next object; called again after a conflict. `current`: the stored object, frozen. */
  next(current: AnyObject | undefined): NextObject | Promise<NextObject>;
}

/** Writes an object: next object -> managedFields -> mutating admission -> registry (strategy, validating admission). */
export async function writeThrough(
  deps: ApiDeps,
  context: RequestContext,
  kind: StoredKind,
  query: WriteQuery,
  write: Write,
): Promise<UpdateResult> {
  const attempts = new Attempts(deps.admission, context, kind, write.subresource, query);
  let before: AnyObject | undefined;
  const transform = async (current: AnyObject | undefined): Promise<AnyObject> => {
    before = current;
    if (current === undefined) {
      await authorizeCreate(deps, context);
      refuseWhileTerminating(kind, context.place.name);
    }
    const { pace } = context;
    const next = await write.next(current);
    await pace.step();
    const object = next.tracked
      ? next.object
      : await trackManagedFields(context, kind, query, current, next.object);
    await pace.step();
    const stored = kind.toStored(object);
    return write.isAdmitted === true ? stored : attempts.mutate(current, stored);
  };
  const { namespace, name } = context.place;
  try {
    const result = await kind.store.update(namespace, name, transform, {
      subresource: write.subresource,
      createIfMissing: write.createIfMissing,
      dryRun: query.dryRun,
      ...(write.isAdmitted === true ? {} : { admit: (next, old) => attempts.validate(old, next) }),
      warn: (text) => context.warnings.add(text),
      pace: context.pace,
      charge: copiesChargedTo(context.holding),
    });
    if (before !== undefined && !query.dryRun) {
      deps.issuedCertificates.noteUpdate(kind.resource, before, result.object.object);
    }
    return result;
  } catch (error) {
    await attempts.abandon();
    throw error;
  }
}

/** Copies per stored byte: the object as data, the next one, the same with managed fields, and its bytes. */
const copiesPerByte = 4;

/** Charges for the copies of the object that the registry reads, even for a tiny patch. Each attempt replaces the last. */
function copiesChargedTo(holding: Holding): (bytes: number) => void {
  let charged = 0;
  return (bytes) => {
    holding.give("patch", charged);
    charged = 0;
    charge(holding, "patch", bytes * copiesPerByte);
    charged = bytes * copiesPerByte;
  };
}

/** Admission of one update over its attempts; an attempt that is repeated is abandoned. */
class Attempts {
  readonly #admission: Admission;
  readonly #request: (old: AnyObject | undefined, next: AnyObject | undefined) => AdmissionRequest;
  readonly #context: RequestContext;
  #attempt: object = {};
  #open: AdmissionRequest | undefined;

  constructor(
    admission: Admission,
    context: RequestContext,
    kind: StoredKind,
    subresource: string,
    query: WriteQuery,
  ) {
    this.#admission = admission;
    this.#context = context;
    this.#request = (oldObject, object) =>
      admissionRequest(context, kind, {
        operation: oldObject === undefined ? "CREATE" : "UPDATE",
        subresource,
        name: context.place.name,
        object,
        oldObject,
        dryRun: query.dryRun,
        attempt: this.#attempt,
        options: writeOptions(oldObject === undefined ? "CreateOptions" : "UpdateOptions", query),
      });
  }

  async mutate(old: AnyObject | undefined, next: AnyObject): Promise<AnyObject> {
    await this.abandon();
    this.#attempt = {};
    this.#open = this.#request(old, next);
    return keepManagedFields(this.#context, next, await this.#admission.mutate(this.#open));
  }

  validate(old: AnyObject | undefined, next: AnyObject | undefined): Promise<void> {
    this.#open = this.#request(old, next);
    return this.#admission.validate(this.#open);
  }

  async abandon(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    if (open !== undefined) await this.#admission.unreserve(open);
  }
}

/** Requires the permission to create for a write that creates. */
async function authorizeCreate(deps: ApiDeps, context: RequestContext): Promise<void> {
  const attributes = { ...context.attributes, verb: "create" };
  const decision = await deps.authorizer.authorize(attributes);
  if (!decision.allowed) throw authorizationError(attributes, decision.reason);
}

/** Requires the body to name the path's object. The namespace is checked first. @throws ApiError 400. */
export function requireSameName(object: AnyObject, kind: StoredKind, place: Place): AnyObject {
  const placed = setNamespace(object, kind, place);
  const { name } = place;
  const { name: ownName = "" } = object.metadata ?? {};
  if (ownName === "") {
    const why = "name must be provided";
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: ${why}`);
  }
  if (ownName !== name) {
    const said = `the name of the object (${ownName})`;
    throw badRequest(`${said} does not match the name on the URL (${name})`);
  }
  return placed;
}
