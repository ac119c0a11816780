import type { z } from "zod";

/**
 * The first check of what has a length: once its type is wrong, no other looks at it. zod (4.6) measures whatever has a
 * `length`, also in place of a string or a list, and throws when what it finds there is no number.
 */
export const onlyOfItsType = {
  when: (payload: z.core.ParsePayload): boolean => {
    payload.aborted = payload.issues.length > 0;
    return false;
  },
};
export const always = () => true;
