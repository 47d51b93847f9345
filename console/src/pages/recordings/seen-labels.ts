import type { Recording, VoiceNotes } from 'vnotes';

import { client } from '../../session/session';

/** What the recordings had that the lists have shown, the latest last. */
interface Labels {
  api: VoiceNotes | null;
  /** As `ticket=T-1042`. */
  tags: Set<string>;
  users: Set<string>;
}

/** Of each: enough for what a person filters by. */
const MAX_KEPT = 200;

let seen: Labels = { api: null, tags: new Set(), users: new Set() };

export function seenLabels(): Pick<Labels, 'tags' | 'users'> {
  const api = client.peek();
  if (seen.api !== api) seen = { api, tags: new Set(), users: new Set() };
  return seen;
}

export function noteLabels(recordings: readonly Recording[]): void {
  const { tags, users } = seenLabels();
  for (const { custom_tags, user_id } of recordings.toReversed()) {
    for (const [key, value] of Object.entries(custom_tags ?? {})) keep(tags, `${key}=${value}`);
    if (user_id !== null) keep(users, user_id);
  }
}

function keep(labels: Set<string>, label: string): void {
  labels.delete(label);
  labels.add(label);
  if (labels.size > MAX_KEPT) labels.delete([...labels][0] as string);
}
