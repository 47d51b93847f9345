import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ts from 'typescript';

import { replaceOnce } from '../../mutation/catalogue.mjs';

/**
 * The changed source files of a control.
 * @param {string} root @param {import('./controls.mjs').Control} control
 * @returns {Map<string, string>} texts by their file
 */
export function faultySources(root, { without, edits }) {
  const texts = new Map();
  for (const { file, from, to } of edits) {
    const text = texts.get(file) ?? readFileSync(join(root, file), 'utf8');
    texts.set(file, replaceOnce(text, { file, from, to, what: without }));
  }
  return texts;
}

/**
 * Copies the build of the service, with a control's faults in it. The copy goes when this process ends.
 * @returns {string} the folder to run it from
 */
export function faultyBuild(root, control) {
  const copy = mkdtempSync(join(tmpdir(), 'voice-notes-control-'));
  process.once('exit', () => rmSync(copy, { recursive: true, force: true }));
  cpSync(join(root, 'dist'), join(copy, 'dist'), { recursive: true });
  cpSync(join(root, 'package.json'), join(copy, 'package.json'));
  for (const folder of ['node_modules', 'console']) symlinkSync(join(root, folder), join(copy, folder));
  for (const [file, text] of faultySources(root, control)) {
    const target = file.replace(/^src/, 'dist').replace(/\.ts$/, '.js');
    writeFileSync(join(copy, target), compile(root, file, text));
  }
  return copy;
}

function compile(root, file, text) {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile);
  const { target, experimentalDecorators, emitDecoratorMetadata, useDefineForClassFields } = config.compilerOptions;
  const compilerOptions = { target, experimentalDecorators, emitDecoratorMetadata, useDefineForClassFields };
  const { outputText, diagnostics } = ts.transpileModule(text, {
    fileName: file,
    compilerOptions: { ...compilerOptions, module: 'esnext' },
    reportDiagnostics: true,
  });
  const [problem] = diagnostics;
  if (problem) throw new Error(`${file}: ${ts.flattenDiagnosticMessageText(problem.messageText, ' ')}`);
  return outputText;
}
