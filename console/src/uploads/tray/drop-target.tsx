import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { Icon } from '../../components/icon';
import { toast } from '../../components/toast';
import { t } from '../../language/texts';
import { may, reasonFor } from '../../session/permissions';
import { newNoteDetails } from '../new-note-details';
import { addFiles } from '../uploads';
import './drop-target.css';

/** The whole window takes files that are dropped or pasted. */
export function DropTarget() {
  const over = useSignal(false);
  useEffect(() => {
    const end = new AbortController();
    listenForFiles(end.signal, (isOver) => (over.value = isOver));
    return () => end.abort();
  }, []);
  return over.value ? (
    <div class="drop-target" role="status">
      <p>
        <Icon name="upload" size={32} />
        {t('Drop audio files to upload them')}
      </p>
    </div>
  ) : null;
}

function listenForFiles(signal: AbortSignal, show: (isOver: boolean) => void): void {
  // Each element under the pointer sends its own pair of events.
  let depth = 0;
  const enter = (change: number) => (event: DragEvent) => {
    if (!hasFiles(event.dataTransfer)) return;
    depth = Math.max(0, depth + change);
    show(depth > 0 && may('recordings:write'));
  };
  addEventListener('dragenter', enter(1), { signal });
  addEventListener('dragleave', enter(-1), { signal });
  // Without this the browser opens the file in place of the console.
  addEventListener('dragover', (event) => hasFiles(event.dataTransfer) && event.preventDefault(), { signal });
  const take = (event: DragEvent) => {
    if (!hasFiles(event.dataTransfer)) return;
    event.preventDefault();
    depth = 0;
    show(false);
    takeFiles(event.dataTransfer);
  };
  addEventListener('drop', take, { signal });
  const paste = ({ clipboardData }: ClipboardEvent) => hasFiles(clipboardData) && takeFiles(clipboardData);
  addEventListener('paste', paste, { signal });
}

function hasFiles(data: DataTransfer | null): data is DataTransfer {
  return data?.types.includes('Files') ?? false;
}

function takeFiles({ items }: DataTransfer): void {
  if (!may('recordings:write')) return void toast(reasonFor('recordings:write', 'upload recordings'));
  const all = [...items].filter(({ kind }) => kind === 'file');
  const files = all.filter((item) => !item.webkitGetAsEntry()?.isDirectory);
  if (files.length < all.length) toast(t('Folders cannot be uploaded. Drop the files instead.'));
  const taken = files.flatMap((item) => item.getAsFile() ?? []);
  void addFiles(taken, newNoteDetails());
}
