export const RECORD = {} as const;
