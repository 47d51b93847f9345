export const RECORDING = {} as const;
