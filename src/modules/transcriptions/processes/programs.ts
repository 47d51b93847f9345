import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { childEnvironment } from '../../../platform/config/child-environment.js';

/** The path of the program; null when it is not installed. */
export function findProgram(name: string): string | null {
  const folders = (childEnvironment().PATH ?? '').split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  return folders.map((folder) => path.join(folder, name)).find(isExecutable) ?? null;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
