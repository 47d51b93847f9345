import type { DynamicModule, Type } from '@nestjs/common';
import type { MigrationInterface } from 'typeorm';

/** Something that a team adds: a Nest module, and the migrations of its tables, if it has any. */
export interface Extension {
  module: Type | DynamicModule;
  migrations?: (new () => MigrationInterface)[];
}

/** The one list of the core that a team adding modules of its own edits (docs/extending.md). */
export const extensions: Extension[] = [];
