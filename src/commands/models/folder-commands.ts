import path from 'node:path';
import { addModel } from '../../modules/transcriptions/models/add-model.js';
import { MODEL_NAME, MODEL_NAME_RULE } from '../../modules/transcriptions/models/catalogue/catalogue-entry.js';
import { formatBytes } from '../../modules/transcriptions/models/download/progress-lines.js';
import { readModelFolder } from '../../modules/transcriptions/models/model-kind.js';
import { verifyModel } from '../../modules/transcriptions/models/verify-model.js';
import { languageName } from '../../platform/languages.js';
import { onInterruption } from './interruption.js';
import { presentModel } from './list-command.js';
import { modelsContext } from './models-context.js';
import type { CommandResult } from './command-result.js';

interface AddOptions {
  target: string;
  name?: string;
  languages?: string;
  use?: true;
}

export async function add({ target, name = defaultName(target), languages, use }: AddOptions): Promise<CommandResult> {
  const { models } = modelsContext();
  const given = languages === undefined ? null : namesOf(languages);
  const signal = onInterruption('Interrupted. Nothing was added.');
  const onWait = (holder: string): unknown => process.stderr.write(`Waiting for ${holder}, which works on ${name}.\n`);
  const record = await addModel(models, target, { name, languages: given, signal, onWait });
  if (use) await models.select(name);
  const model = await models.get(name);
  const spoken = record.languages === 'any' ? 'any language' : record.languages.join(', ');
  return {
    value: { model: presentModel(model) },
    text: [
      `${name}: a model of the kind ${record.kind} for ${spoken}, ${formatBytes(model.bytes)}, copied to ${model.folder}`,
      model.isSelected
        ? 'Selected: workers use it from their next start on.'
        : `Select it: npm run models -- use ${name}`,
    ].join('\n'),
  };
}

export async function verify({ target }: { target?: string }): Promise<CommandResult> {
  const { models } = modelsContext();
  const chosen = target === undefined ? await models.list() : [await models.get(target)];
  const results = [];
  for (const model of chosen) results.push(await verifyModel(model));
  const lines = results.map(({ name, problems, files, bytes }) =>
    problems.length === 0
      ? `${name}: ${files} files, ${formatBytes(bytes)}, all as recorded`
      : `${name}: NOT as recorded\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
  );
  const isBad = results.some(({ problems }) => problems.length > 0);
  return {
    value: { models: results },
    text: lines.join('\n') || `No model is in ${models.path}.`,
    exitCode: isBad ? 1 : 0,
  };
}

export async function select({ target }: { target: string }): Promise<CommandResult> {
  const { models } = modelsContext();
  // A worker would find out only when it starts.
  readModelFolder((await models.get(target)).folder);
  await models.select(target);
  return {
    value: { model: presentModel(await models.get(target)) },
    text: `${target} is selected. Workers use it from their next start on.`,
  };
}

export async function remove({ target, force }: { target: string; force?: true }): Promise<CommandResult> {
  const { models } = modelsContext();
  const { bytes } = await models.remove(target, { force: force ?? false });
  return { value: { removed: target, bytes }, text: `${target} is removed: ${formatBytes(bytes)} are free again.` };
}

/** That of the folder, as far as the rules for names permit. @throws Error that asks for one */
function defaultName(folder: string): string {
  const name = path.basename(path.resolve(folder)).toLowerCase();
  if (MODEL_NAME.test(name)) return name;
  throw new Error(`Choose a --name: ${JSON.stringify(name)} cannot be the name of a model (${MODEL_NAME_RULE}).`);
}

function namesOf(list: string): string[] {
  return list.split(',').map((item) => {
    const name = languageName(item.trim());
    if (name === null) throw new Error(`--languages: ${JSON.stringify(item.trim())} is not a language or its code.`);
    return name;
  });
}
