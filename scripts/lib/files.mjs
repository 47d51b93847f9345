import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Writes a file that only its owner may read, whole or not at all. */
export function writeSecretFile(file, text) {
  mkdirSync(dirname(file), { recursive: true });
  const unfinished = `${file}.${process.pid}`;
  writeFileSync(unfinished, text, { mode: 0o600 });
  renameSync(unfinished, file);
}

/** @returns {string | null} null when there is no such file */
export function readFileIfAny(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    throw error;
  }
}

/** @returns {any} null when there is no such file, or none that can be understood */
export function readJsonIfAny(file) {
  try {
    return JSON.parse(readFileIfAny(file));
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
