import type { VoiceNotes } from 'vnotes';

import { client } from './session';

/** The API on a page that only people who have signed in see. */
export function api(): VoiceNotes {
  if (!client.value) throw new Error('signed out');
  return client.value;
}
