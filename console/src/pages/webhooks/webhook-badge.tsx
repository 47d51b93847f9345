import type { Webhook } from 'vnotes';

import { Badge } from '../../components/badge';
import { t } from '../../language/texts';

export function WebhookBadge({ status }: Pick<Webhook, 'status'>) {
  return status === 'active' ? <Badge tone="good">{t('Active')}</Badge> : <Badge tone="warn">{t('Disabled')}</Badge>;
}
