import type { UploadView } from '../upload-list';

/** What happens to an item, for a person. @param now milliseconds since 1970 */
export function statusText(view: UploadView, now: number): string {
  switch (view.phase) {
    case 'recording':
      return 'Recording…';
    case 'interrupted':
      return 'Not sent: the page was closed while recording.';
    case 'queued':
      return 'Queued';
    case 'sending':
      return progressText(view);
    case 'elsewhere':
      return 'Another tab is sending this';
    case 'network':
      return view.until === null
        ? 'Offline. Resumes automatically.'
        : `Cannot reach the service. ${nextAttempt(view, now)}`;
    case 'limit':
      return `Too many requests. Resumes ${countdown(view, now)}.`;
    case 'paced':
      return `Close to the rate limit. Resumes ${countdown(view, now)}.`;
    case 'service':
      return `The service is not available. ${nextAttempt(view, now)}`;
    case 'refused':
      return view.item.problem?.message ?? 'Refused';
    default:
      return 'Sent';
  }
}

function progressText({ sent, item: { size } }: UploadView): string {
  if (size > 0 && sent >= size) return 'Saving…';
  return `${Math.floor((100 * sent) / Math.max(1, size))}% sent`;
}

function nextAttempt(view: UploadView, now: number): string {
  return `Trying again ${countdown(view, now)}.`;
}

function countdown({ until }: UploadView, now: number): string {
  const seconds = Math.ceil(((until ?? now) - now) / 1000);
  return seconds > 0 ? `in ${seconds} s` : 'now';
}
