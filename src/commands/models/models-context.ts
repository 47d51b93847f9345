import { ModelsFolder } from '../../modules/transcriptions/models/models-folder.js';
import { type ModelSettings, modelSettings } from '../../platform/config/model-settings.js';

export interface ModelsContext {
  settings: ModelSettings;
  models: ModelsFolder;
}

/** @throws InvalidEnvironmentError */
export function modelsContext(): ModelsContext {
  const settings = modelSettings(process.env);
  return { settings, models: new ModelsFolder(settings.modelsFolder) };
}
