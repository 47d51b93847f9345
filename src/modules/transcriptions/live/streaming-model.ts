import { CHILD_READS, childFile, type ChildModule } from '../engines/children/engine-child.js';

/** A model that decodes while audio comes. */
export interface StreamingModel {
  /** Name of the engine. */
  provider: string;
  model: string;
  /** Lower-case English names. */
  languages: readonly string[] | 'any';
  /** Longest utterance, in seconds. */
  maxSeconds: number;
  /** Speakers for which there is memory. */
  maxSessions: number;
  module: ChildModule;
}

/** Works after the installation. */
export const POCKETSPHINX: StreamingModel = {
  provider: 'pocketsphinx',
  model: 'en-us',
  languages: ['english'],
  maxSeconds: 15,
  maxSessions: Infinity,
  module: { file: childFile('engines/pocketsphinx-live'), reads: CHILD_READS },
};
