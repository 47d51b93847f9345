import { api } from '../../session/api';
import type { UsageItem } from './usage-in-words';

export interface Part {
  /** Null for recordings without a key or an end user. */
  id: string | null;
  /** The id where nobody knows it; empty without one. */
  name: string;
  isRevoked: boolean;
  seconds: number;
  recordings: number;
  failed: number;
  bytes: number;
}

type KeyName = Pick<Part, 'name' | 'isRevoked'>;

const DAYS = 30;
const MOST = 100;

/** The figures of each key or end user, those with the most audio first. */
export async function loadBreakdown(by: 'key' | 'user', signal: AbortSignal) {
  const { items, next_uri } = await api().account.usage({ days: DAYS, by, limit: MOST }, { signal });
  const keys = by === 'key' ? await keyNames(items, signal) : new Map<string, KeyName>();
  const parts = items.map((item): Part => {
    const id = (by === 'key' ? item.key_id : item.user_id) ?? null;
    return {
      id,
      ...(keys.get(id ?? '') ?? { name: id ?? '', isRevoked: false }),
      seconds: item.total_duration_seconds,
      recordings: item.recordings_count,
      failed: item.failed_count,
      bytes: item.storage_used_bytes,
    };
  });
  return { by, parts: parts.toSorted((a, b) => b.seconds - a.seconds), isCut: next_uri !== null };
}

/** Usage has ids. Those that were revoked are in a list of their own, which is read only when it is needed. */
async function keyNames(items: readonly UsageItem[], signal: AbortSignal): Promise<Map<string, KeyName>> {
  const names = new Map<string, KeyName>();
  const unknown = () => items.some(({ key_id }) => typeof key_id === 'string' && !names.has(key_id));
  for (const query of [{ limit: MOST }, { limit: MOST, status: 'revoked' as const }]) {
    if (!unknown()) break;
    const { api_keys } = await api().keys.list(query, { signal });
    for (const { id, name, status } of api_keys) names.set(id, { name, isRevoked: status === 'revoked' });
  }
  return names;
}
