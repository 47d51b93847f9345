import type { Scope } from 'vnotes';

import type { IconName } from '../components/icon';

export interface PageLink {
  path: string;
  title: string;
  icon: IconName;
  /** Without it there is nothing to see or to do on the page. */
  scope: Scope;
}

const RECORDINGS: PageLink = { path: '/', title: 'Recordings', icon: 'waveform', scope: 'recordings:read' };
const RECORD: PageLink = { path: '/record', title: 'Record', icon: 'mic', scope: 'recordings:write' };
const WEBHOOKS: PageLink = { path: '/webhooks', title: 'Webhooks', icon: 'webhook', scope: 'webhooks:read' };
const KEYS: PageLink = { path: '/keys', title: 'Keys', icon: 'key', scope: 'account:read' };
const USAGE: PageLink = { path: '/usage', title: 'Usage', icon: 'chart', scope: 'account:read' };
const ERRORS: PageLink = { path: '/errors', title: 'Errors', icon: 'alert', scope: 'account:read' };

/** For the rail at the side. */
export const NOTE_PAGES = [RECORDINGS, RECORD];
export const ACCOUNT_PAGES = [WEBHOOKS, KEYS, USAGE, ERRORS];

/** For the bar at the bottom of a small screen; the rest is in its menu. */
export const TAB_PAGES = [RECORDINGS, RECORD, WEBHOOKS, USAGE];
export const MENU_PAGES = [KEYS, ERRORS];

/** Whether the page, or one below it, is open. */
export function isCurrent({ path }: PageLink, location: string): boolean {
  if (path === '/') return location === '/' || location.startsWith('/recordings');
  return location === path || location.startsWith(`${path}/`);
}
