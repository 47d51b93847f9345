export const ACCOUNT = {} as const;
