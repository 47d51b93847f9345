import { advice, type Leftovers } from './rotate-secrets.js';

const nothing: Leftovers = {
  hasPrevious: true,
  waitingKeys: 0,
  unreadableKeys: 0,
  waitingWebhooks: 0,
  unreadableWebhooks: 0,
};

describe('advice on SECRET_KEY_PREVIOUS', () => {
  it.each<[string, Partial<Leftovers>, string[]]>([
    ['says when it can go', {}, ['can be removed', 'one day after']],
    [
      'holds on to it for keys',
      { waitingKeys: 2 },
      ['Keep SECRET_KEY_PREVIOUS', 'API keys that need it until they are next used, and are refused without it: 2.'],
    ],
    [
      'holds on to it for webhooks',
      { waitingWebhooks: 3 },
      ['Keep SECRET_KEY_PREVIOUS', 'without the new SECRET_KEY: 3. Run this again.'],
    ],
    [
      'does not hold on to it for what it cannot read',
      { unreadableKeys: 4, unreadableWebhooks: 5 },
      ['can be removed', 'by no key that is here: API keys 4, webhook secrets 5.'],
    ],
    [
      'says that there is none',
      { hasPrevious: false, unreadableKeys: 1 },
      ['is not set', 'API keys 1, webhook secrets 0'],
    ],
  ])('%s', (_, leftovers, parts) => {
    const said = advice({ ...nothing, ...leftovers });
    for (const part of parts) expect(said).toContain(part);
    expect(said.includes('can be removed')).toBe(parts.includes('can be removed'));
  });
});
