import type { DynamicModule, Type } from '@nestjs/common';
import type { EngineDefinition } from './modules/transcriptions/engines/transcription-engine.js';
import type { Migration } from './platform/database/data-source.js';

/** Something that a team adds: a Nest module, and the migrations of its tables, if it has any. */
export interface Extension {
  module: Type | DynamicModule;
  migrations?: Migration[];
  /** Selected by their name in TRANSCRIPTION_ENGINE. */
  engines?: EngineDefinition[];
}
