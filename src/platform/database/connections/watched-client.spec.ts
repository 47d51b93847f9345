import { Client } from 'pg';
import { WatchedClient } from './watched-client.js';

describe('WatchedClient', () => {
  let answer: () => Promise<unknown>;
  let sent: unknown[][];
  let ended: number;

  beforeEach(() => {
    sent = [];
    ended = 0;
    answer = async () => ({ rows: [] });
    jest.spyOn(Client.prototype, 'query').mockImplementation((...parameters: unknown[]) => {
      sent.push(parameters);
      return answer() as never;
    });
    jest.spyOn(Client.prototype, 'end').mockImplementation(() => {
      ended++;
    });
  });

  afterEach(() => jest.restoreAllMocks());

  const TIMEOUTS = { transactionSettings: { lock_timeout: 5000, statement_timeout: 0 } };
  const SET = 'START TRANSACTION; SET LOCAL lock_timeout = 5000; SET LOCAL statement_timeout = 0';

  it.each<[string, object, unknown, unknown]>([
    ['sends the settings with the start of a transaction', TIMEOUTS, 'START TRANSACTION', SET],
    ['sends a start as it is without settings', {}, 'START TRANSACTION', 'START TRANSACTION'],
    ['sends any other statement as it is', TIMEOUTS, 'SELECT 1', 'SELECT 1'],
    ['names statements by default', {}, { name: 'a', text: 'b' }, { name: 'a', text: 'b' }],
    ['names none behind a pooler', { preparedStatements: false }, { name: 'a', text: 'b' }, { text: 'b' }],
    ['leaves statements without a name', { preparedStatements: false }, { text: 'b' }, { text: 'b' }],
  ])('%s', async (_, config, statement, expected) => {
    await new WatchedClient(config).query(statement as string, ['value']);
    expect(sent).toEqual([[expected, ['value']]]);
  });

  it('is ended when a statement gets no answer in time, and by no other error', async () => {
    const client = new WatchedClient();
    answer = () => Promise.reject(new Error('duplicate key'));
    await expect(client.query('INSERT')).rejects.toThrow('duplicate key');
    expect(ended).toBe(0);
    answer = () => Promise.reject(new Error('Query read timeout'));
    await expect(client.query('INSERT')).rejects.toThrow('Query read timeout');
    expect(ended).toBe(1);
  });

  it('survives the error of a closed connection', () => {
    expect(new WatchedClient().emit('error', new Error('closed'))).toBe(true);
  });
});
