import { titleOfItem } from '../../format/recording-title';
import type { Description } from '../../uploads/new-note-details';

/** What a connection is opened with. @param recordingId to go on with; null for a new recording */
export function parametersOf(extension: string, description: Description, recordingId: string | null): URLSearchParams {
  const { name, language, speakers, tags } = description;
  const format = extension === 'm4a' ? 'mp4' : extension;
  if (recordingId !== null) return new URLSearchParams({ format, recording: recordingId });
  return new URLSearchParams({
    format,
    title: titleOfItem({ kind: 'recording', name }),
    ...(language !== '' && { [language.includes(',') ? 'languages' : 'language']: language }),
    ...(speakers !== '' && { speakers }),
    ...(Object.keys(tags).length > 0 && { custom_tags: JSON.stringify(tags) }),
  });
}
