import { type Scope, SCOPES } from '../../scopes.js';
import type { Context } from '../context.js';
import type { ExitCode } from '../exit-codes.js';
import { time } from '../terminal/format.js';
import { statusColour } from '../terminal/status-colour.js';
import { deleteEach } from './delete.js';

interface ListOptions {
  status?: 'active' | 'expired' | 'revoked';
  mode?: 'live' | 'test';
}

export async function listKeys(context: Context, { status, mode }: ListOptions) {
  const { output } = context;
  const client = await context.client();
  const keys = await collect(client.keys.list({ status, mode, limit: 100 }));
  output.document({ api_keys: keys, total: keys.length });
  if (keys.length === 0) return output.note('No keys match.');
  output.table(keys, [
    { title: 'ID', value: ({ id }) => id },
    { title: 'PREFIX', value: ({ key_prefix }) => `${key_prefix}…`, optional: 3 },
    { title: 'STATUS', value: (key) => key.status, colour: (key) => statusColour(key.status) },
    { title: 'USED', value: ({ last_used_at }) => time(last_used_at, output.forPeople), optional: 2 },
    { title: 'EXPIRES', value: ({ expires_at }) => time(expires_at, output.forPeople), optional: 1 },
    { title: 'NAME', value: ({ name }) => name, flexible: true },
    {
      title: 'SCOPES',
      value: ({ scopes }) => (scopes.length === SCOPES.length ? 'all' : scopes.join(',')),
      optional: 4,
    },
  ]);
}

interface CreateOptions {
  scopes?: Scope[];
  expires?: string;
  description?: string;
  mode?: 'live' | 'test';
}

export async function createKey(context: Context, { scopes, expires, description, mode }: CreateOptions, name: string) {
  const { output } = context;
  const client = await context.client();
  const key = await client.keys.create({ name, scopes, expires_at: expires, description, mode });
  output.document(key);
  output.print(`ID      ${key.id}`);
  output.print(`Key     ${key.api_key}`);
  output.print(`Secret  ${key.api_secret}`);
  output.note('Store the secret now: it is shown only once.');
}

interface RevokeOptions {
  descendants?: boolean;
  yes?: boolean;
}

export async function revokeKey(context: Context, { descendants, yes }: RevokeOptions, id: string): Promise<ExitCode> {
  const client = await context.client();
  const question = `Revoke the key ${id}${descendants ? ' and all that it made' : ''}? Requests with it fail at once.`;
  return await deleteEach(context, [id], yes ? null : question, (key) => client.keys.revoke(key, { descendants }), {
    done: 'revoked',
    refused: 'Nothing was revoked.',
  });
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
