/**
 * For a control in which chance decides whether a fault meets what is not yet stored. That the loss can be seen once is all
 * that it shows, so it is tried again; a guarantee never is.
 */
export const CONTROL = { timeout: 120_000, retry: 2 };
