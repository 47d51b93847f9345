export const SHARED = {} as const;
