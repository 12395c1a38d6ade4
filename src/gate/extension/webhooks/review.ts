/**
 * AdmissionReview: encodes the request to a webhook.
 *
 * Holds  the objects of a request are encoded as JSON once per version, for any number of webhooks with that version.
 *        Only the uid differs between two reviews.
 */
import type { AdmissionRequest } from "#admission/admission.ts";
import { type AnyObject, apiVersionOf } from "#api/object.ts";
import { given } from "#base/given.ts";
import type { Candidate } from "../matching/rule-index.ts";
import { kindOf } from "../matching/rule-index.ts";
import type { Hook } from "./hook.ts";

const encoder = new TextEncoder();

/** Objects of a request in the version of a candidate. */
export interface ViewedObjects {
  readonly object: AnyObject | undefined;
  readonly oldObject: AnyObject | undefined;
}

/** Returns `request` of an AdmissionReview without uid, object and oldObject. */
export function reviewFields(request: AdmissionRequest, candidate: Candidate<Hook>): object {
  const { info, subresource, namespace, name, user } = request;
  const { group, version, resource } = candidate.info;
  const own = { group: info.group, version: info.version };
  const sub = subresource === "" ? {} : { subResource: subresource };
  const requestSub = subresource === "" ? {} : { requestSubResource: subresource };
  return {
    kind: candidate.kind,
    resource: { group, version, resource },
    ...sub,
    requestKind: kindOf(info, subresource),
    requestResource: { ...own, resource: info.resource },
    ...requestSub,
    ...(name === "" ? {} : { name }),
    ...(namespace === "" ? {} : { namespace }),
    operation: request.operation,
    userInfo: {
      username: user.name,
      ...(user.uid === undefined || user.uid === "" ? {} : { uid: user.uid }),
      ...(user.groups.length === 0 ? {} : { groups: user.groups }),
      ...given({ extra: user.extra }),
    },
    dryRun: request.dryRun,
    options: request.options ?? null,
  };
}

/** Returns the bytes of a review after its version and uid. All webhooks for one version share them. */
export function reviewTail(fields: object, { object, oldObject }: ViewedObjects): Uint8Array {
  const objects = `"object":${JSON.stringify(object ?? null)},"oldObject":${JSON.stringify(oldObject ?? null)}`;
  return encoder.encode(`,${objects},${JSON.stringify(fields).slice(1)}}`);
}

/** Returns the whole review. */
export function reviewBody(version: "v1" | "v1beta1", uid: string, tail: Uint8Array): Uint8Array {
  const apiVersion = apiVersionOf({ group: "admission.k8s.io", version });
  const head = encoder.encode(
    `{"kind":"AdmissionReview","apiVersion":"${apiVersion}","request":{"uid":"${uid}"`,
  );
  const body = new Uint8Array(head.length + tail.length);
  body.set(head);
  body.set(tail, head.length);
  return body;
}
