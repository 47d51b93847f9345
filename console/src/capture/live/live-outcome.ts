import { toast } from '../../components/toast';
import { client } from '../../session/session';
import type { Description } from '../../uploads/new-note-details';
import type { UploadItem } from '../../uploads/store/upload-item';
import { changeView } from '../../uploads/upload-list';
import { enqueueRecording, keepArrived } from '../../uploads/uploads';
import { titleOfItem } from '../../format/recording-title';
import { t } from '../../language/texts';

/** Whether it is transcribed as the person wants it: what is live has the language and speakers of its beginning. */
export const isAsBegun = (item: UploadItem, begun: Description): boolean =>
  item.language === begun.language && (item.speakers ?? '') === begun.speakers;

/** The service has the whole recording: the copy of the browser goes. */
export async function keepLive(item: UploadItem, begun: Description, recordingId: string): Promise<void> {
  await describe(item, begun, recordingId);
  changeView(item.id, { item });
  await keepArrived(item.id, recordingId);
}

/** Sends the copy of the browser in place of what the service has. */
export async function sendInstead(item: UploadItem, durable: boolean, recordingId: string): Promise<void> {
  const { liveId: _, ...rest } = item;
  await enqueueRecording(rest, durable);
  await removeLive(recordingId);
}

/** Title and tags may have been written while it was recorded. */
async function describe(item: UploadItem, begun: Description, recordingId: string): Promise<void> {
  const changes = {
    ...(item.name !== begun.name && { title: titleOfItem(item) }),
    ...(JSON.stringify(item.tags) !== JSON.stringify(begun.tags) && { tags: item.tags }),
  };
  if (Object.keys(changes).length === 0) return;
  try {
    await client.peek()?.recordings.update(recordingId, changes);
  } catch {
    toast(t('The recording is sent. Its title and tags could not be saved: change them on its page.'), { tone: 'bad' });
  }
}

/** What the service has of a recording that is discarded, or sent in another way. */
export async function removeLive(recordingId: string): Promise<void> {
  try {
    await client.peek()?.recordings.delete(recordingId);
  } catch {
    toast(t('The service still has the recording that was made live. Delete it in the list.'), { tone: 'bad' });
  }
}
