export const RECORDINGS = {} as const;
