import { advice, type Leftovers } from './maintenance-commands.js';

const nothing: Leftovers = {
  hasPrevious: true,
  hasPreviousStorageKey: false,
  waitingKeys: 0,
  unreadableKeys: 0,
  waitingWebhooks: 0,
  unreadableWebhooks: 0,
  waitingAudioKeys: 0,
  unreadableAudioKeys: 0,
};

describe('advice on SECRET_KEY_PREVIOUS', () => {
  it.each<[string, Partial<Leftovers>, string[]]>([
    ['it can be removed when nothing needs it', {}, ['can be removed', 'one day after']],
    [
      'API keys need it',
      { waitingKeys: 2 },
      ['Keep SECRET_KEY_PREVIOUS', '2 API keys still need SECRET_KEY_PREVIOUS: use or revoke each.'],
    ],
    [
      'webhook secrets need it',
      { waitingWebhooks: 1 },
      ['Keep SECRET_KEY_PREVIOUS', '1 webhook secret set during this run', 'run this command again.'],
    ],
    [
      'keys of audio need it',
      { waitingAudioKeys: 2 },
      ['Keep SECRET_KEY_PREVIOUS', '2 keys of audio made during this run', 'run this command again.'],
    ],
    [
      'audio cannot be read without it',
      { hasPrevious: false, unreadableAudioKeys: 1 },
      ['is not set', 'Nothing here can read 1 key of audio, and the audio under it: set'],
    ],
    [
      'what it cannot read does not need it',
      { unreadableKeys: 4, unreadableWebhooks: 5 },
      ['can be removed', 'Neither key can read 4 API keys and 5 webhook secrets'],
    ],
    [
      'that of audio can be removed when nothing needs it',
      { hasPrevious: false, hasPreviousStorageKey: true },
      ['can be removed', 'STORAGE_KEY_PREVIOUS can be removed once all processes have the new STORAGE_KEY.'],
    ],
    [
      'keys of audio need that of audio',
      { hasPrevious: false, hasPreviousStorageKey: true, waitingAudioKeys: 1 },
      ['Keep STORAGE_KEY_PREVIOUS for now.', '1 key of audio made during this run'],
    ],
    ['it is not set', { hasPrevious: false, unreadableKeys: 1 }, ['is not set', '1 API key and 0 webhook secrets']],
  ])('%s', (_, leftovers, parts) => {
    const said = advice({ ...nothing, ...leftovers });
    for (const part of parts) expect(said).toContain(part);
    expect(said.includes('can be removed')).toBe(parts.includes('can be removed'));
  });
});
