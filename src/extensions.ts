import type { Extension } from './extension.js';

/** The one list of the core that a team adding modules of its own edits (docs/extending.md). */
export const extensions: Extension[] = [];
