/** For the tests. The other scripts are not type-checked. */
export function installBinary(program: {
  name: string;
  version: string;
  path: string;
}): Promise<{ binary?: string; problem?: string }>;
