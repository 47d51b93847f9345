import type { INestApplicationContext } from '@nestjs/common';
import type { ApiKey } from '../modules/api-keys/api-key.entity.js';
import { ApiKeysService } from '../modules/api-keys/api-keys.service.js';
import { WebhookSecretsService } from '../modules/webhooks/webhook-secrets.service.js';
import { resourceTime } from '../platform/http/timestamps.js';
import { SecretsService } from '../platform/secrets/secrets.service.js';

/** What is left under another key than SECRET_KEY. */
export interface Leftovers {
  hasPrevious: boolean;
  waitingKeys: number;
  unreadableKeys: number;
  waitingWebhooks: number;
  unreadableWebhooks: number;
}

/** Puts what can be put under the current SECRET_KEY there, and says what still needs SECRET_KEY_PREVIOUS. */
export async function rotateSecrets(app: INestApplicationContext): Promise<object> {
  const { reencrypted, left, unreadable: webhooks } = await app.get(WebhookSecretsService).reencrypt();
  const { waiting, unreadable: keys } = await app.get(ApiKeysService).underOtherKeys();
  return {
    webhook_secrets: { reencrypted, left, unreadable: webhooks.length },
    api_keys: { waiting_for_use: waiting.length, unreadable: keys.length },
    keys_waiting_for_use: waiting.map(showKey),
    unreadable_keys: keys.map(showKey),
    unreadable_webhooks: webhooks,
    advice: advice({
      hasPrevious: app.get(SecretsService).hasPrevious,
      waitingKeys: waiting.length,
      unreadableKeys: keys.length,
      waitingWebhooks: left,
      unreadableWebhooks: webhooks.length,
    }),
  };
}

/** A sentence for each thing that there is to know or to do. */
export function advice({ hasPrevious, ...count }: Leftovers): string {
  const says: string[] = [];
  if (!hasPrevious) says.push('SECRET_KEY_PREVIOUS is not set.');
  else if (count.waitingKeys + count.waitingWebhooks > 0) says.push('Keep SECRET_KEY_PREVIOUS for now.');
  else {
    says.push(
      'SECRET_KEY_PREVIOUS can be removed as soon as no access token made under it is valid any more: ' +
        'at the latest one day after the last process took up the new SECRET_KEY.',
    );
  }
  if (count.waitingKeys > 0) {
    says.push(`API keys that need it until they are next used, and are refused without it: ${count.waitingKeys}.`);
  }
  if (count.waitingWebhooks > 0) {
    says.push(
      `Webhook secrets set meanwhile by a process without the new SECRET_KEY: ${count.waitingWebhooks}. Run this again.`,
    );
  }
  if (count.unreadableKeys + count.unreadableWebhooks > 0) {
    says.push(
      `Read by no key that is here: API keys ${count.unreadableKeys}, webhook secrets ${count.unreadableWebhooks}. ` +
        'Set SECRET_KEY_PREVIOUS to the key they were made under, or have new ones made.',
    );
  }
  return says.join(' ');
}

function showKey({ id, accountId, name, lastUsedAt }: ApiKey): object {
  return { id, account_id: accountId, name, last_used_at: lastUsedAt && resourceTime(lastUsedAt) };
}
