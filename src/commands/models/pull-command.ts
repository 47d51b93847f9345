import { findEntry, readCatalogue } from '../../modules/models/catalogue.js';
import type { CatalogueEntry } from '../../modules/models/catalogue-entries.js';
import { ProgressLines } from './progress-lines.js';
import { pullModel } from '../../modules/models/pull-model.js';
import { DOWNLOAD_TIMING, SourceClient, TransientSourceError } from '../../modules/models/source-client.js';
import { proxyText } from '../../platform/config/env.js';
import { type CommandResult, modelsContext, onInterruption, presentModel } from './models-commands.js';

interface PullOptions {
  target: string;
  use?: true;
  update?: true;
  revision?: string;
}

export async function pull(options: PullOptions): Promise<CommandResult> {
  const { models, settings } = modelsContext();
  const found = findEntry(await readCatalogue(models.path), options.target);
  const entry = { ...found, revision: options.revision ?? found.revision };
  const signal = onInterruption('Interrupted. The next pull continues with what was received.');
  const lines = new ProgressLines(entry.name, process.stderr);
  const client = new SourceClient(settings, DOWNLOAD_TIMING);
  try {
    const { record, isNew } = await pullModel(models, entry, {
      client,
      signal,
      update: options.update ?? options.revision !== undefined,
      onProgress: (received, total) => lines.update(received, total),
      onRetry: ({ message }, pauseMs) => lines.say(`${message}. Trying again in ${Math.ceil(pauseMs / 1000)} s.`),
      onWait: (holder) => lines.say(`Waiting for ${holder}, which works on ${entry.name}.`),
    });
    if (options.use) await models.select(entry.name);
    const model = await models.get(entry.name);
    const what = isNew ? `downloaded, every file has the digest that ${client.address} publishes` : 'was there already';
    return {
      value: { model: presentModel(model), downloaded: isNew },
      text: [
        `${entry.name}: ${what}.`,
        `Folder: ${model.folder}`,
        `Licence: ${record.licence ? `${record.licence.name} (${record.licence.source})` : `see ${pageOf(entry)}`}`,
        model.isSelected
          ? 'Selected: workers use it from their next start on.'
          : `Select it: npm run models -- use ${entry.name}`,
      ].join('\n'),
    };
  } catch (error) {
    if (error instanceof TransientSourceError)
      throw new Error(helpWith(error, entry, client.address), { cause: error });
    throw error;
  } finally {
    lines.end();
    await client.close();
  }
}

const pageOf = ({ repository }: CatalogueEntry): string => `https://huggingface.co/${repository}`;

function helpWith(error: TransientSourceError, entry: CatalogueEntry, address: string): string {
  if (!error.isUnreachable) return `${error.message}. Try again later: the download continues with what was received.`;
  return [
    `${error.message}.`,
    `- Behind a proxy: set HTTPS_PROXY, and NO_PROXY for hosts that need none. ${proxyText(process.env)}`,
    '- With a mirror of Hugging Face: set MODELS_URL to its address.',
    `- Without a network: download ${entry.files.join(', ')} of ${address}/${entry.repository} on another machine,`,
    `  copy the folder here and run: npm run models -- add FOLDER --name ${entry.name}`,
    'What was received is kept: the next pull continues.',
  ].join('\n');
}
