/** The name of the workspace of a new database, and the default of `--workspace`. */
export const FIRST_WORKSPACE = "default";
