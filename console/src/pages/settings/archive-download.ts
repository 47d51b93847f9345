import { signal } from '@preact/signals';

import { saveFile } from '../../components/save-file';
import { toast } from '../../components/toast';
import { t } from '../../language/texts';
import { accountId } from '../../session/account';
import { baseUrl, keyPair, onSignOut } from '../../session/session';

/** How much of the archive has come, from 0 to 1; null while none is downloaded. */
export const downloaded = signal<number | null>(null);

let underWay: XMLHttpRequest | null = null;

export const archiveUrl = (): string => `${baseUrl()}v1/account/export/archive`;

/**
 * Downloads the archive with the key of this tab, which no link can carry. It goes on while other pages are shown.
 * An XMLHttpRequest tells how far it is without the bytes passing through the memory of the page.
 */
export function downloadArchive(): void {
  const [pair, request] = [keyPair(), new XMLHttpRequest()];
  const fail = () => {
    toast(t('The download failed. The connection was lost, or the export is no longer there. Try again.'), {
      tone: 'bad',
    });
  };
  request.open('GET', archiveUrl());
  request.responseType = 'blob';
  if (pair) {
    request.setRequestHeader('X-Service-API-Key', pair.key);
    request.setRequestHeader('X-Service-API-Secret', pair.secret);
  }
  request.addEventListener('progress', ({ loaded, total }) => (downloaded.value = total === 0 ? 0 : loaded / total));
  request.addEventListener('load', () =>
    request.status === 200 ? saveFile(request.response as Blob, `account-${accountId.value}.tar`) : fail(),
  );
  request.addEventListener('error', fail);
  request.addEventListener('loadend', () => (downloaded.value = underWay = null));
  downloaded.value = 0;
  underWay = request;
  request.send();
}

onSignOut(() => underWay?.abort());
