import { memberKind, memberName } from './archive-format.js';

const ID = '019aa5c1-0d3e-7a55-b0f4-9a1c2e7d4b60';

describe('names of members', () => {
  it.each<[string, object]>([
    ['manifest.json', { kind: 'manifest' }],
    [memberName.rows('api_keys', 1), { kind: 'rows', table: 'api_keys' }],
    [memberName.rows('recordings', 1_234_567), { kind: 'rows', table: 'recordings' }],
    [memberName.audio(ID, 'm4a'), { kind: 'audio', recordingId: ID, format: 'm4a' }],
    [memberName.text(ID, 'text.srt'), { kind: 'text' }],
    [memberName.text(ID, 'paragraphs.txt'), { kind: 'text' }],
    [memberName.sums(1), { kind: 'sums' }],
  ])('are known: %s', (name, kind) => {
    expect(memberKind(name)).toEqual(kind);
  });

  it.each([
    '',
    '/etc/passwd',
    '../manifest.json',
    './manifest.json',
    'manifest.json/x',
    'tables/../x/000001.jsonl',
    'tables/api_keys/1.jsonl',
    'tables/API/000001.jsonl',
    `recordings/${ID}/../audio.wav`,
    `recordings/${ID}/audio.wav/x`,
    `recordings/${ID.toUpperCase()}/audio.wav`,
    `recordings/${ID}/other.txt`,
    `recordings/${ID}/audio.wav\n`,
  ])('are no others: %j', (name) => {
    expect(memberKind(name)).toBeNull();
  });
});
