import { promptOf, transcriptionForm } from './openai.client.js';

describe('transcriptionForm', () => {
  it('is each field, then the audio as a WAV file', async () => {
    const form = transcriptionForm(
      [
        ['model', 'grün'],
        ['include[]', 'a'],
        ['include[]', 'b'],
      ],
      Buffer.from('audio!'),
    );
    const file = form.get('file') as File;
    expect([...form.keys()]).toEqual(['model', 'include[]', 'include[]', 'file']);
    expect([form.get('model'), form.getAll('include[]')]).toEqual(['grün', ['a', 'b']]);
    expect([file.name, file.type]).toEqual(['audio.wav', 'audio/wav']);
    expect(
      Buffer.from(await file.arrayBuffer())
        .subarray(44)
        .toString(),
    ).toBe('audio!');
  });

  it('describes 16 kHz mono 16-bit PCM of the given length', async () => {
    const file = transcriptionForm([], Buffer.alloc(32_000)).get('file') as File;
    const header = Buffer.from(await file.arrayBuffer()).subarray(0, 44);
    expect(header.toString('ascii', 0, 4)).toBe('RIFF');
    expect(header.readUInt32LE(4)).toBe(32_036);
    expect(header.toString('ascii', 8, 16)).toBe('WAVEfmt ');
    expect([header.readUInt32LE(16), header.readUInt16LE(20), header.readUInt16LE(22)]).toEqual([16, 1, 1]);
    expect([header.readUInt32LE(24), header.readUInt32LE(28)]).toEqual([16_000, 32_000]);
    expect([header.readUInt16LE(32), header.readUInt16LE(34)]).toEqual([2, 16]);
    expect(header.toString('ascii', 36, 40)).toBe('data');
    expect(header.readUInt32LE(40)).toBe(32_000);
  });
});

describe('promptOf', () => {
  it.each([
    [[], []],
    [['Grafana'], [['prompt', 'Grafana.']]],
    [['Grafana', 'New\n  York', 'a\tb  c'], [['prompt', 'Grafana, New York, a b c.']]],
  ])('of %j is %j', (vocabulary, prompt) => {
    expect(promptOf(vocabulary)).toEqual(prompt);
  });
});
