export const WEBHOOKS = {} as const;
