import type { DynamicModule, Type } from '@nestjs/common';
import { registerScope, type Scope } from './access/scopes.js';
import { type PlanDefinition, registerPlan } from './access/plans.js';
import type { EngineDefinition } from './modules/transcriptions/engines/transcription-engine.js';
import type { TranscriptFilter } from './modules/transcriptions/worker/transcriber.service.js';
import { type EventKind, registerEventKind } from './modules/webhooks/events/event-catalogue.js';
import type { Migration } from './platform/database/data-source.js';
import type { Grants } from './platform/database/grants.js';
import type { ObjectStoreDefinition } from './platform/storage/object-store.js';

/** What a team adds to the service: a Nest module, and whatever else it brings (docs/extending.md). */
export interface Extension {
  module: Type | DynamicModule;
  migrations?: Migration[];
  /** What processes with a database role of their own may do with the tables of these migrations. */
  grants?: Grants;
  /** Selected by their name in TRANSCRIPTION_ENGINE. */
  engines?: EngineDefinition[];
  /** Selected by their name in STORAGE_DRIVER. */
  objectStores?: ObjectStoreDefinition[];
  /** Applied to each transcript before it is stored. */
  transcriptFilters?: TranscriptFilter[];
  /** For `@RequireScope` on its routes and for API keys. */
  scopes?: Scope[];
  plans?: PlanDefinition[];
  /**
   * Kinds of events that webhooks can subscribe to, published by `WebhookEventsService`: a name, or with a description, a
   * schema and an example for the catalogue.
   */
  eventKinds?: (string | EventKind)[];
}

interface Additions {
  migrations: Migration;
  engines: EngineDefinition;
  objectStores: ObjectStoreDefinition;
  transcriptFilters: TranscriptFilter;
}

/** What all extensions add of one kind, in their order. */
export function addedBy<Kind extends keyof Additions>(extensions: readonly Extension[], kind: Kind): Additions[Kind][] {
  return extensions.flatMap((extension) => (extension[kind] ?? []) as Additions[Kind][]);
}

/** Adds what decorators and validation read. Called before the application is created; repeating it is harmless. */
export function registerExtensions(extensions: readonly Extension[]): void {
  for (const { scopes = [], plans = [], eventKinds = [] } of extensions) {
    for (const scope of scopes) registerScope(scope);
    for (const plan of plans) registerPlan(plan);
    for (const eventKind of eventKinds) registerEventKind(eventKind);
  }
}
