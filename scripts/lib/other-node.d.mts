/** For the tests. The other scripts are not type-checked. */
export const NODE_24: string;
export function installNode(version: string): Promise<{ binary?: string; problem?: string }>;
