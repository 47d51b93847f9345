import { useComputed, useSignal, useSignalEffect } from '@preact/signals';
import { useLocation } from 'wouter-preact';

import { Icon } from '../../components/icon';
import { t } from '../../language/texts';
import { DropTarget } from './drop-target';
import { hideItem, recordedHere, uploads, type UploadView } from '../upload-list';
import { UploadRow } from './upload-row';
import './upload-tray.css';

const OF_RECORD_PAGE = new Set(['recording', 'interrupted']);
const NEEDS_PERSON = new Set(['refused', 'interrupted']);

/** What is on its way to the service, on every page; and the target for files that are dropped anywhere. */
export function UploadTray() {
  const open = useSignal(isWide());
  const needy = useComputed(() => uploads.value.filter(({ phase }) => NEEDS_PERSON.has(phase)).length);
  // What newly needs the person opens what was closed.
  useSignalEffect(() => {
    if (needy.value > 0 && isWide()) open.value = true;
  });
  const views = useShown();
  const summary = views.length > 0 ? summaryOf(views) : '';
  return (
    <>
      <DropTarget />
      <p class="visually-hidden" role="status">
        {summary && t('Uploads: {summary}', { summary })}
      </p>
      {summary && <div class="upload-room" />}
      {summary && (
        <section class="upload-tray" aria-label={t('Uploads')}>
          <TrayHeader summary={summary} open={open.value} onToggle={() => (open.value = !open.value)} />
          {open.value && (
            <ul class="upload-list">
              {inOrder(views).map((view) => (
                <UploadRow key={view.item.id} view={view} />
              ))}
            </ul>
          )}
        </section>
      )}
    </>
  );
}

/** What needs the person comes first, then the newest. */
function inOrder(views: readonly UploadView[]): UploadView[] {
  const newest = views.toReversed();
  const needs = ({ phase }: UploadView) => NEEDS_PERSON.has(phase);
  return [...newest.filter(needs), ...newest.filter((view) => !needs(view))];
}

/** On a small screen the list would cover the page. */
function isWide(): boolean {
  return matchMedia('(width >= 56rem)').matches;
}

/** What this tab records has a bar; the page for recording shows itself what was interrupted. */
function useShown(): readonly UploadView[] {
  const [path] = useLocation();
  const others = uploads.value.filter(({ item }) => item.id !== recordedHere.value);
  return path === '/record' ? others.filter(({ phase }) => !OF_RECORD_PAGE.has(phase)) : others;
}

function TrayHeader({ summary, open, onToggle }: { summary: string; open: boolean; onToggle: () => void }) {
  const done = uploads.value.filter(({ phase }) => phase === 'sent');
  return (
    <>
      <div class="upload-tray-header">
        <button type="button" class="button is-quiet upload-toggle" aria-expanded={open} onClick={onToggle}>
          <Icon name={open ? 'chevron-down' : 'chevron-up'} />
          <span>{t('Uploads: {summary}', { summary })}</span>
        </button>
        {done.length > 0 && (
          <button type="button" class="button is-quiet" onClick={() => done.forEach(({ item }) => hideItem(item.id))}>
            {t('Clear')}
          </button>
        )}
      </div>
      {!open && <Total />}
    </>
  );
}

/** All of it in one bar, while the list is closed. */
function Total() {
  const moving = uploads.value.filter(({ phase }) => !NEEDS_PERSON.has(phase));
  const size = moving.reduce((sum, { item }) => sum + item.size, 0);
  const sent = moving.reduce((sum, view) => sum + Math.min(view.sent, view.item.size), 0);
  if (size === 0 || sent >= size) return null;
  return <progress class="upload-total" value={sent} max={size} aria-label={t('All uploads')} />;
}

/** For example `2 of 5 sent, 1 needs attention`. */
function summaryOf(shown: readonly UploadView[]): string {
  const views = shown.filter(({ phase }) => phase !== 'recording');
  if (views.length === 0) return t('recording…');
  const sent = views.filter(({ phase }) => phase === 'sent').length;
  const stuck = views.filter(({ phase }) => NEEDS_PERSON.has(phase)).length;
  const all =
    sent === views.length ? t('{sent} sent', { sent }) : t('{sent} of {all} sent', { sent, all: views.length });
  if (stuck === 0) return all;
  return `${all}, ${t('{stuck, plural, one {# needs} other {# need}} attention', { stuck })}`;
}
