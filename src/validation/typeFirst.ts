import type { z } from "zod";

/**
 * The first check of strings and lists: a wrong type ends the validation. Otherwise zod (4.6) reads the `length` of any
 * value, and throws when it is not a number.
 */
export const onlyOfItsType = {
  when: (payload: z.core.ParsePayload): boolean => {
    payload.aborted = payload.issues.length > 0;
    return false;
  },
};
export const always = () => true;
