import { resourceTime } from '../../platform/http/timestamps.js';
import type { UsagePeriod } from '../recordings/usage-counters/usage.service.js';
import type { Account } from './account.entity.js';
// Types only: the command line presents them as well, and @nestjs/swagger would be half of all that it loads.
import type { AccountView, UsagePeriodView } from './account.dto.js';

export function presentAccount(account: Account, [current, previous]: [UsagePeriod, UsagePeriod]): AccountView {
  return {
    id: account.id,
    name: account.name,
    email: account.email,
    status: account.status,
    plan: account.plan,
    created_at: resourceTime(account.createdAt),
    updated_at: resourceTime(account.updatedAt),
    usage: { current_month: presentUsage(current), previous_month: presentUsage(previous) },
    uri: '/v1/account',
  };
}

const presentUsage = (usage: UsagePeriod): UsagePeriodView => ({
  recordings_count: usage.recordings,
  total_duration_seconds: usage.durationMs / 1000,
  storage_used_bytes: usage.bytes,
});
