import type { INestApplicationContext } from '@nestjs/common';
import type { ApiKey } from '../../modules/api-keys/api-key.entity.js';
import { ApiKeysService } from '../../modules/api-keys/api-keys.service.js';
import { WebhookSecretsService } from '../../modules/webhooks/webhook-secrets.service.js';
import { resourceTime } from '../../platform/http/timestamps.js';
import { SecretsService } from '../../platform/secrets.service.js';
import { recordByOperator } from './security-events.js';

/** What is not encrypted or hashed with SECRET_KEY yet. */
export interface Leftovers {
  hasPrevious: boolean;
  waitingKeys: number;
  unreadableKeys: number;
  waitingWebhooks: number;
  unreadableWebhooks: number;
}

/** Encrypts webhook secrets with the current SECRET_KEY, and says what still needs SECRET_KEY_PREVIOUS. */
export async function rotateSecrets(app: INestApplicationContext): Promise<object> {
  const { reencrypted, left, unreadable: webhooks } = await app.get(WebhookSecretsService).reencrypt();
  recordByOperator(app, 'webhook secrets encrypted anew', {});
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

/** One sentence for each fact or task. */
export function advice({ hasPrevious, ...count }: Leftovers): string {
  const sentences: string[] = [];
  if (!hasPrevious) sentences.push('SECRET_KEY_PREVIOUS is not set.');
  else if (count.waitingKeys + count.waitingWebhooks > 0) sentences.push('Keep SECRET_KEY_PREVIOUS for now.');
  else {
    sentences.push(
      'SECRET_KEY_PREVIOUS can be removed one day after the last process was restarted with the new SECRET_KEY: ' +
        'until then an access token signed with the previous key may still be valid.',
    );
  }
  if (count.waitingKeys > 0) {
    sentences.push(
      `${plural(count.waitingKeys, 'API key')} still ${count.waitingKeys === 1 ? 'needs' : 'need'} SECRET_KEY_PREVIOUS: use or revoke each.`,
    );
  }
  if (count.waitingWebhooks > 0) {
    const secrets = plural(count.waitingWebhooks, 'webhook secret');
    sentences.push(`${secrets} set during this run by a process with another SECRET_KEY: run this command again.`);
  }
  if (count.unreadableKeys + count.unreadableWebhooks > 0) {
    const [keys, webhooks] = [
      plural(count.unreadableKeys, 'API key'),
      plural(count.unreadableWebhooks, 'webhook secret'),
    ];
    sentences.push(
      `Neither key can read ${keys} and ${webhooks}: set SECRET_KEY_PREVIOUS to the key they were created with, ` +
        'or replace them.',
    );
  }
  return sentences.join(' ');
}

const plural = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;

function showKey({ id, accountId, name, lastUsedAt }: ApiKey): object {
  return { id, account_id: accountId, name, last_used_at: lastUsedAt && resourceTime(lastUsedAt) };
}
