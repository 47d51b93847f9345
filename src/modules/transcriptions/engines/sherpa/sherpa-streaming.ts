import path from 'node:path';
import type { Env } from '../../../../platform/config/env.js';
import { availableBytes } from '../../../../platform/processes/resources.js';
import { selectedModel } from '../../../models/installed-models.js';
import { ModelError, readModelFolder } from '../../../models/model-folder.js';
import type { StreamingModel } from '../../live/streaming-model.js';
import { CHILD_READS, childFile } from '../children/engine-child.js';
import { describeLoss, loadLimitMs, memoryNeeds, sherpaEngine } from './sherpa.engine.js';
import { sherpaSettings } from './sherpa-settings.js';

type StreamingEnv = Pick<Env, 'liveModel' | 'modelsFolder' | 'sherpaMemoryMb'>;

const MAX_SECONDS = 15;
/** Of the memory that there is for models; the rest is for those of whole chunks. */
const SHARE = 0.5;

/** The folder of the streaming model in use; null when none was chosen. */
export function streamingModelFolder({
  liveModel,
  modelsFolder,
}: Pick<Env, 'liveModel' | 'modelsFolder'>): string | null {
  const name = liveModel ?? selectedModel(modelsFolder, 'streaming');
  return name === null ? null : path.resolve(modelsFolder, name);
}

/**
 * The streaming model in use; null when none was chosen.
 * @throws ModelError that says what is wrong with it
 */
export function sherpaStreamingModel(env: StreamingEnv): StreamingModel | null {
  const folder = streamingModelFolder(env);
  if (folder === null) return null;
  const model = readModelFolder(folder);
  if (!model.streaming) {
    throw new ModelError(`${folder} holds no streaming model, which LIVE_MODEL needs: its kind is ${model.kind}`);
  }
  const { bytes, processes } = memoryNeeds(model.bytes, env.sherpaMemoryMb, SHARE * availableBytes());
  const [language = 'english'] = model.languages ?? [];
  const settings = sherpaSettings(model, { defaultLanguage: language, maxSeconds: MAX_SECONDS });
  return {
    provider: sherpaEngine.name,
    model: path.basename(folder),
    languages: model.languages ?? 'any',
    maxSeconds: MAX_SECONDS,
    maxSessions: processes,
    module: {
      file: childFile('engines/sherpa/sherpa-live'),
      args: [JSON.stringify(settings)],
      reads: [...model.reads, ...CHILD_READS],
      modelBytes: bytes,
      loadLimitMs: loadLimitMs(model),
      explain: (end, said) => describeLoss(folder, bytes, end, said),
    },
  };
}
