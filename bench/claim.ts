/** What is claimed beside the ratios to the baselines, measured in a folder that is removed afterwards. */
export interface Claim {
  name: string;
  wanted: string;
  measure: (folder: string) => Promise<Finding>;
}

/** What was measured, in words, and whether it is what was wanted. */
export interface Finding {
  measured: string;
  isMet: boolean;
}
