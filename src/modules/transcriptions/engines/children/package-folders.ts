import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The built files, even when this one runs from source: Node cannot fork TypeScript, and Jest turns modules into
 * CommonJS. The package root is five folders up from both src and dist.
 */
const ROOT = fileURLToPath(new URL('../../../../../', import.meta.url));
const DIST = path.join(ROOT, 'dist');

/** What every child reads: the built service and the folders in which Node looks for its packages. */
export const CHILD_READS = [DIST, path.join(ROOT, 'package.json'), ...packageFolders(ROOT)] as const;

/** @param name below the folder of engines, without `.child.js` */
export function childFile(name: string): string {
  return path.join(DIST, `modules/transcriptions/engines/${name}.child.js`);
}

/** Every folder in which Node looks for the packages that a module in this folder imports. */
function packageFolders(folder: string): string[] {
  const parent = path.dirname(folder);
  const here = [path.join(folder, 'node_modules')].filter((candidate) => existsSync(candidate));
  return parent === folder ? here : [...here, ...packageFolders(parent)];
}
