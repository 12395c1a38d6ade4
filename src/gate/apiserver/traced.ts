/** Admission and store of a traced request: each call is a span. Untraced requests do not use this. */
import type { Admission } from "#admission/admission.ts";
import type { ResourceStore } from "#registry/resource-store.ts";
import type { Trace } from "#server/trace.ts";

export function tracedAdmission(admission: Admission, trace: Trace): Admission {
  return {
    mutate: (request) => trace.within("Mutating admission", () => admission.mutate(request)),
    validate: (request) => trace.within("Validating admission", () => admission.validate(request)),
    unreserve: (request) => admission.unreserve(request),
  };
}

/** Traces a store. Spans have no names or namespaces of objects; those are in the audit log. */
export function tracedStore(store: ResourceStore, trace: Trace): ResourceStore {
  const { group, resource } = store.info;
  const attributes = [
    ["group", group],
    ["resource", resource],
  ] as const;
  const within = <T>(what: string, work: () => Promise<T>): Promise<T> =>
    trace.within(`${what} store`, work, attributes);
  return {
    info: store.info,
    get size() {
      return store.size;
    },
    get: (...args) => within("Get", () => store.get(...args)),
    create: (...args) => within("Create", () => store.create(...args)),
    update: (...args) => within("Update", () => store.update(...args)),
    delete: (...args) => within("Delete", () => store.delete(...args)),
    list: (...args) => within("List", () => store.list(...args)),
    watch: (...args) => within("Watch", () => store.watch(...args)),
    peek: (...args) => store.peek(...args),
    peekList: (...args) => store.peekList(...args),
  };
}
