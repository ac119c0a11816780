/** `publish` moves protected tags, `admin` makes and revokes tokens, sets prices and reads the audit log. */
export const scopes = ["read", "write", "publish", "admin"] as const;
export type Scope = (typeof scopes)[number];
