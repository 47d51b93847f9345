import { useEffect, useState } from 'preact/hooks';

import { titleOfItem } from '../../format/recording-title';
import type { UploadItem } from '../../uploads/store/upload-item';
import { bytesOf } from '../../uploads/store/upload-store';
import { t } from '../../language/texts';

/** Plays what is in the browser. */
export function ItemPlayer({ item }: { item: UploadItem }) {
  const [url, setUrl] = useState('');
  useEffect(() => {
    let made = '';
    let ended = false;
    const show = (bytes: Blob) => {
      if (ended || bytes.size === 0) return;
      made = URL.createObjectURL(bytes);
      setUrl(made);
    };
    bytesOf(item).then(show, () => {});
    return () => {
      ended = true;
      // The player may still be reading it.
      setTimeout(() => URL.revokeObjectURL(made), 60_000);
    };
  }, [item.id, item.size]);
  return url === '' ? null : (
    <audio class="item-player" controls src={url} aria-label={t('Play {title}', { title: titleOfItem(item) })} />
  );
}
