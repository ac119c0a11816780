import type { FastifyRequest } from "../http/app.ts";
import { type Warning, warningText } from "../warnings.ts";
import type { ClientForms } from "./clientForms.inputs.ts";

const formWarnings = new WeakMap<FastifyRequest, Warning[]>();

/** Reads the forms of published clients before the body of a request is validated. */
export function readForms(read: (body: unknown, request: FastifyRequest) => ClientForms) {
  return async (request: FastifyRequest): Promise<void> => {
    const { body, warnings } = read(request.body, request);
    request.body = body;
    if (warnings.length > 0) formWarnings.set(request, warnings);
  };
}

/** The warnings of a request as one text, with those about its forms; null for none. */
export const withForms = (request: FastifyRequest, warnings: Warning[]): string | null =>
  warningText([...(formWarnings.get(request) ?? []), ...warnings]);
