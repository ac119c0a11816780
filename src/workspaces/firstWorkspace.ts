/** The name of the workspace that a new database has, which commands use unless told otherwise. */
export const FIRST_WORKSPACE = "default";
