import type { Scope } from 'vnotes';

import type { IconName } from '../components/icon';
import type { Text } from '../language/texts';
import { may } from '../session/permissions';
import { session } from '../session/session';

export interface PageLink {
  path: string;
  title: Text;
  icon: IconName;
  /** Without it there is nothing to see or to do on the page; null: it is for a person who has signed in. */
  scope: Scope | null;
}

const RECORDINGS: PageLink = { path: '/', title: 'Recordings', icon: 'waveform', scope: 'recordings:read' };
const RECORD: PageLink = { path: '/record', title: 'Record', icon: 'mic', scope: 'recordings:write' };
const WEBHOOKS: PageLink = { path: '/webhooks', title: 'Webhooks', icon: 'webhook', scope: 'webhooks:read' };
const KEYS: PageLink = { path: '/keys', title: 'Keys', icon: 'key', scope: 'account:read' };
const USAGE: PageLink = { path: '/usage', title: 'Usage', icon: 'chart', scope: 'account:read' };
const ERRORS: PageLink = { path: '/errors', title: 'Errors', icon: 'alert', scope: 'account:read' };

const SETTINGS: PageLink = { path: '/settings', title: 'Settings', icon: 'sliders', scope: 'account:read' };
const MEMBERS: PageLink = { path: '/members', title: 'Members', icon: 'people', scope: 'account:read' };
const PROFILE: PageLink = { path: '/profile', title: 'Your sign-in', icon: 'user', scope: null };

/** Whether the page is offered. */
export const isOffered = ({ scope }: PageLink): boolean => (scope === null ? session.value !== null : may(scope));

/** For the rail at the side. */
export const NOTE_PAGES = [RECORDINGS, RECORD];
export const ACCOUNT_PAGES = [WEBHOOKS, KEYS, USAGE, ERRORS, MEMBERS, SETTINGS, PROFILE];

/** For the bar at the bottom of a small screen; the rest is in its menu. */
export const TAB_PAGES = [RECORDINGS, RECORD, WEBHOOKS, USAGE];
export const MENU_PAGES = [KEYS, ERRORS, MEMBERS, SETTINGS, PROFILE];

/** Whether the page, or one below it, is open. */
export function isCurrent({ path }: PageLink, location: string): boolean {
  if (path === '/') return location === '/' || location.startsWith('/recordings');
  return location === path || location.startsWith(`${path}/`);
}
