import { useEffect, useRef, useState } from 'preact/hooks';
import { Link } from 'wouter-preact';

import { titleOfItem } from '../../format/recording-title';
import { t, type Text } from '../../language/texts';
import type { UploadView } from '../upload-list';
import { discardItem, downloadItem, sendItem } from '../uploads';

/** What can be done with an item in its present phase. */
export function RowActions({ view }: { view: UploadView }) {
  const [asks, setAsks] = useState(false);
  const { item, phase } = view;
  if (asks) return <ConfirmDiscard view={view} onKeep={() => setAsks(false)} />;
  if (phase === 'recording') return <RowLink to="/record" label={t('Show')} name={titleOfItem(item)} />;
  if (phase === 'sent')
    return <RowLink to={`/recordings/${view.recordingId}`} label={t('Open')} name={titleOfItem(item)} />;
  const send = sendLabel(view);
  const discard = () => (item.kind === 'recording' ? setAsks(true) : void discardItem(item.id));
  return (
    <div class="upload-actions">
      {send && <RowButton label={t(send)} name={titleOfItem(item)} strong run={() => void sendItem(item.id)} />}
      {item.kind === 'recording' && phase !== 'sending' && (
        <RowButton label={t('Download')} name={titleOfItem(item)} run={() => void downloadItem(item)} />
      )}
      <RowButton label={phase === 'sending' ? t('Cancel') : t('Discard')} name={titleOfItem(item)} run={discard} />
    </div>
  );
}

/** A file is still on the disk; a recording is nowhere else. */
function ConfirmDiscard({ view: { item }, onKeep }: { view: UploadView; onKeep: () => void }) {
  const keep = useRef<HTMLButtonElement>(null);
  useEffect(() => keep.current?.focus(), []);
  return (
    <div class="upload-actions" role="group" aria-label={t('Discard {title}?', { title: titleOfItem(item) })}>
      <span>{t('This is the only copy. Discard it?')}</span>
      <button ref={keep} type="button" class="button" onClick={onKeep}>
        {t('Keep')}
      </button>
      <button type="button" class="button is-danger" onClick={() => void discardItem(item.id)}>
        {t('Discard')}
      </button>
    </div>
  );
}

interface ActionProps {
  label: string;
  /** Of the item, so that the buttons of different rows differ for a screen reader. */
  name: string;
}

function RowLink({ to, label, name }: ActionProps & { to: string }) {
  return (
    <div class="upload-actions">
      <Link class="button is-quiet" href={to} aria-label={`${label}: ${name}`}>
        {label}
      </Link>
    </div>
  );
}

function RowButton({ label, name, strong, run }: ActionProps & { strong?: boolean; run: () => void }) {
  return (
    <button type="button" class={strong ? 'button' : 'button is-quiet'} aria-label={`${label}: ${name}`} onClick={run}>
      {label}
    </button>
  );
}

/** @returns null where sending again as it is cannot help */
function sendLabel({ phase, item: { problem } }: UploadView): Text | null {
  if (phase === 'interrupted') return 'Send';
  if (phase === 'paced') return 'Send now';
  if (phase === 'network' || phase === 'service') return 'Try now';
  if (phase !== 'refused' || ['too-large', 'format', 'unreadable'].includes(problem?.code ?? '')) return null;
  if (problem?.code === 'conflict') return 'Send as new';
  return problem?.code === 'unsure' ? 'Send again' : 'Try again';
}
