/**
 * The variables of one request for expressions, in the version that a policy wants.
 *
 * Cost   objects are converted once per version; their fields become expression values only when an expression reads
 *        them.
 */
import type { AdmissionRequest } from "#admission/admission.ts";
import type { Lister } from "#api/lister.ts";
import { type AnyObject, isNamespaceResource, type JsonObject } from "#api/object.ts";
import type { Catalog } from "#apiserver/kind.ts";
import type { Authorizer } from "#auth/auth.ts";
import type { Clock } from "#platform/clock.ts";
import type { ExpressionRunner } from "../expressions/runner.ts";
import { objectView } from "../webhooks/object-view.ts";
import type { Covered } from "./matcher.ts";
import type { FindParams } from "./params.ts";
import type { PlainScope } from "./plain-scope.ts";
import { describeNamespace, describeRequest } from "./request-variables.ts";

export interface VariableDeps {
  readonly lookup: Lister;
  readonly catalog: Pick<Catalog, "find">;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  readonly runner: ExpressionRunner;
  readonly findParams: FindParams;
}

const namespaces = { group: "", resource: "namespaces" };

/** Objects of a request in the version of a policy. */
type Base = Pick<PlainScope, "object" | "oldObject" | "request" | "resource">;

export class RequestVariables {
  readonly #deps: VariableDeps;
  readonly #request: AdmissionRequest;
  readonly #bases = new Map<Covered["info"], Base>();
  #namespace: JsonObject | null | undefined;

  constructor(deps: VariableDeps, request: AdmissionRequest) {
    this.#deps = deps;
    this.#request = request;
  }

  /** @throws ApiError if an object cannot be converted. */
  async scope(covered: Covered, param: AnyObject | null): Promise<PlainScope> {
    const namespaceObject = this.#namespaceObject();
    return { ...(await this.#base(covered)), params: param, namespaceObject };
  }

  async #base(covered: Covered): Promise<Base> {
    const known = this.#bases.get(covered.info);
    if (known !== undefined) return known;
    const { object, oldObject, namespace, name, subresource } = this.#request;
    const { info, kind } = covered;
    const view = objectView(this.#deps.catalog, info, kind, subresource);
    const seen = async (one: AnyObject | undefined): Promise<AnyObject | null> =>
      one === undefined ? null : await view.toView(one);
    const { group, resource } = this.#request.info;
    const base = {
      object: await seen(object),
      oldObject: await seen(oldObject),
      request: describeRequest(this.#request, info, kind),
      resource: { group, resource, subresource, namespace, name },
    };
    this.#bases.set(info, base);
    return base;
  }

  #namespaceObject(): JsonObject | null {
    if (this.#namespace === undefined) this.#namespace = this.#readNamespace();
    return this.#namespace;
  }

  #readNamespace(): JsonObject | null {
    const { namespace, info } = this.#request;
    if (namespace === "" || isNamespaceResource(info)) return null;
    const found = this.#deps.lookup.get(namespaces, "", namespace);
    return found === undefined ? null : describeNamespace(found);
  }
}
