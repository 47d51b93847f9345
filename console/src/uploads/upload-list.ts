import { computed, signal } from '@preact/signals';

import type { UploadItem } from './store/upload-item';

/**
 * What happens to an item now:
 * - `recording`: this or another tab records it
 * - `interrupted`: the browser ended while it was recorded
 * - `elsewhere`: another tab sends it
 * - `network`, `limit`, `service`: the next attempt waits
 * - `paced`: few requests are left, and pages go first
 */
type Phase =
  | 'recording'
  | 'interrupted'
  | 'queued'
  | 'sending'
  | 'elsewhere'
  | 'network'
  | 'limit'
  | 'paced'
  | 'service'
  | 'refused'
  | 'sent';

export interface UploadView {
  item: UploadItem;
  phase: Phase;
  /** Bytes of this attempt. */
  sent: number;
  /** When the next attempt starts, in milliseconds since 1970. */
  until: number | null;
  /** Once it has arrived. */
  recordingId: string | null;
  /** False when the browser's storage was full: then it is lost with the tab. */
  durable: boolean;
}

/** Everything on its way, oldest first, and what has arrived since the page was opened. */
export const uploads = signal<readonly UploadView[]>([]);

/** What this tab records now: it has a bar of its own. */
export const recordedHere = signal<string | null>(null);

/** How many have arrived: a list of recordings can watch it. */
export const arrived = signal(0);

/** What a killed browser left behind, for the person to decide. */
export const interrupted = computed(() => uploads.value.filter(({ phase }) => phase === 'interrupted'));

export function viewOf(id: string): UploadView | undefined {
  return uploads.peek().find(({ item }) => item.id === id);
}

export function showItem(item: UploadItem, fields: Partial<UploadView> = {}): void {
  const fresh = { phase: phaseOf(item), sent: 0, until: null, recordingId: null, durable: true };
  uploads.value = viewOf(item.id)
    ? uploads.peek().map((view) => (view.item.id === item.id ? { ...view, item, ...fields } : view))
    : [...uploads.peek(), { item, ...fresh, ...fields }];
}

export function changeView(id: string, fields: Partial<UploadView>): void {
  uploads.value = uploads.peek().map((view) => (view.item.id === id ? { ...view, ...fields } : view));
}

export function hideItem(id: string): void {
  uploads.value = uploads.peek().filter(({ item }) => item.id !== id);
}

/** What has arrived as this recording. */
export function hideArrived(recordingId: string): void {
  uploads.value = uploads.peek().filter((view) => view.recordingId !== recordingId);
}

export function showArrived(id: string, recordingId: string): void {
  const view = viewOf(id);
  if (!view || view.phase === 'sent') return;
  changeView(id, { phase: 'sent', sent: view.item.size, until: null, recordingId });
  arrived.value += 1;
}

/** Takes over what the database holds, and leaves the course of the present attempts alone. */
export function showStored(items: readonly UploadItem[], capturing: ReadonlySet<string>): void {
  const stored = new Map(items.map((item) => [item.id, item]));
  const stays = ({ item, phase, durable }: UploadView) => stored.has(item.id) || phase === 'sent' || !durable;
  uploads.value = uploads.peek().filter(stays);
  for (const item of items) showItem(item, phaseChange(item, capturing));
}

function phaseChange(item: UploadItem, capturing: ReadonlySet<string>): Partial<UploadView> {
  const phase = viewOf(item.id)?.phase;
  if (item.state === 'capturing') return { phase: capturing.has(item.id) ? 'recording' : 'interrupted' };
  if (item.state === 'refused') return { phase: 'refused' };
  const isOld = phase === undefined || ['recording', 'interrupted', 'refused'].includes(phase);
  return isOld ? { phase: 'queued' } : {};
}

function phaseOf({ state }: UploadItem): Phase {
  return state === 'capturing' ? 'recording' : state;
}
