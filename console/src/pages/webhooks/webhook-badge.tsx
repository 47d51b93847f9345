import type { Webhook } from 'vnotes';

import { Badge } from '../../components/badge';

export function WebhookBadge({ status }: Pick<Webhook, 'status'>) {
  return status === 'active' ? <Badge tone="good">Active</Badge> : <Badge tone="warn">Disabled</Badge>;
}
