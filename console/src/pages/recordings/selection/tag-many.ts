import type { Recording } from 'vnotes';

import { tellOutcome } from '../../../bulk/bulk-outcome';
import { ONCE, runMany } from '../../../bulk/bulk-task';
import { t } from '../../../language/texts';
import { api } from '../../../session/api';
import { changedTags, type TagChange } from './tag-change';

/** Changes tags, and tells how it went. Those that a recording has beside them stay. */
export async function tagMany(recordings: readonly Recording[], change: TagChange): Promise<void> {
  const { recordings: resource } = api();
  const tagOne = async (id: string) => {
    // Somebody may have changed them since they were listed.
    const { custom_tags: before } = await resource.get(id, ONCE);
    const tags = changedTags(before ?? {}, change);
    if (tags !== null) await resource.update(id, { tags }, ONCE);
  };
  const outcome = await runMany('tag', recordings, ({ id }) => tagOne(id));
  const all = recordings.length;
  tellOutcome(outcome, {
    success: t('{all, plural, =1 {Changed the tags of the recording.} other {Changed the tags of # recordings.}}', {
      all,
    }),
    stopped: 'Stopped: {done, number} of {all, number} recordings tagged.',
    failed:
      '{all, plural, =1 {The recording could not be tagged.} other {{failed, number} of {all, number} recordings could not be tagged.}}',
    again: (rest) => void tagMany(rest, change),
  });
}
