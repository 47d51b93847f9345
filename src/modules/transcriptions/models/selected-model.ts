import { readFileSync } from 'node:fs';
import path from 'node:path';
import { errorCode } from '../../../platform/storage/file-system.js';
import { MODEL_NAME } from './catalogue/catalogue-entry.js';

/** The file in the folder of models that names the one in use: `npm run models -- use NAME` writes it. */
export const SELECTED_FILE = 'selected';

/** Name of the model in use; null when none was selected. Its folder has that name. */
export function selectedModel(modelsFolder: string): string | null {
  try {
    const name = readFileSync(path.join(modelsFolder, SELECTED_FILE), 'utf8').trim();
    return MODEL_NAME.test(name) ? name : null;
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw error;
  }
}
