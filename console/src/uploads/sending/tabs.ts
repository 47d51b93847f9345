/** What a tab tells the others of the same browser about the queue. */
export type TabMessage =
  | { kind: 'changed' }
  | { kind: 'discarded'; id: string }
  | { kind: 'progress'; id: string; sent: number }
  | { kind: 'sent'; id: string; recordingId: string };

const channel = typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel('uploads');

export function tellTabs(message: TabMessage): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel is of one origin
  channel?.postMessage(message);
}

/** @returns ends it */
export function onTabMessage(listener: (message: TabMessage) => void): () => void {
  const listen = ({ data }: MessageEvent<TabMessage>) => listener(data);
  channel?.addEventListener('message', listen);
  return () => channel?.removeEventListener('message', listen);
}
