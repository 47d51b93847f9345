import type { UploadView } from '../upload-list';
import { t } from '../../language/texts';

/** What happens to an item, for a person. @param now milliseconds since 1970 */
export function statusText(view: UploadView, now: number): string {
  switch (view.phase) {
    case 'recording':
      return t('Recording…');
    case 'interrupted':
      return t('Not sent: the page was closed while recording.');
    case 'queued':
      return t('Queued');
    case 'sending':
      return progressText(view);
    case 'elsewhere':
      return t('Another tab is sending this');
    case 'network':
      return view.until === null
        ? t('Offline. Resumes automatically.')
        : `${t('Cannot reach the service.')} ${nextAttempt(view, now)}`;
    case 'limit':
      return `${t('Too many requests.')} ${resumption(view, now)}`;
    case 'paced':
      return `${t('Close to the rate limit.')} ${resumption(view, now)}`;
    case 'service':
      return `${t('The service is not available.')} ${nextAttempt(view, now)}`;
    case 'refused':
      return view.item.problem?.message ?? t('Refused');
    default:
      return t('Sent');
  }
}

function progressText({ sent, item: { size } }: UploadView): string {
  if (size > 0 && sent >= size) return t('Saving…');
  return t('{percent}% sent', { percent: Math.floor((100 * sent) / Math.max(1, size)) });
}

function nextAttempt(view: UploadView, now: number): string {
  const seconds = secondsLeft(view, now);
  return seconds > 0 ? t('Trying again in {seconds} s.', { seconds }) : t('Trying again now.');
}

function resumption(view: UploadView, now: number): string {
  const seconds = secondsLeft(view, now);
  return seconds > 0 ? t('Resumes in {seconds} s.', { seconds }) : t('Resumes now.');
}

const secondsLeft = ({ until }: UploadView, now: number): number => Math.ceil(((until ?? now) - now) / 1000);
