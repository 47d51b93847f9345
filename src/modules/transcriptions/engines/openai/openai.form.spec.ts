import { promptOf, transcriptionForm } from './openai.form.js';
import { wavHeader } from '../wav.js';

describe('transcriptionForm', () => {
  it('declares the exact length of its body', () => {
    const { headers, parts } = transcriptionForm([['model', 'grün']], Buffer.alloc(1000));
    expect(headers['content-length']).toBe(String(Buffer.concat(parts).length));
  });

  it('contains the audio itself and no copy of it', () => {
    const pcm = Buffer.alloc(1000);
    expect(transcriptionForm([], pcm).parts).toContain(pcm);
  });
});

describe('the body of a form', () => {
  const pcm = Buffer.from('audio!');
  const body = (form = transcriptionForm([], pcm)) => Buffer.concat(form.parts);

  it('is multipart/form-data: each field, then the audio as a WAV file', async () => {
    const fields = [
      ['model', 'grün'],
      ['include[]', 'a'],
      ['include[]', 'b'],
    ] as const;
    const form = transcriptionForm(fields, pcm);
    const read = await new Response(body(form), { headers: form.headers }).formData();
    const file = read.get('file') as File;
    expect([...read.keys()]).toEqual(['model', 'include[]', 'include[]', 'file']);
    expect([read.get('model'), read.getAll('include[]')]).toEqual(['grün', ['a', 'b']]);
    expect([file.name, file.type]).toEqual(['audio.wav', 'audio/wav']);
    expect(Buffer.from(await file.arrayBuffer())).toEqual(Buffer.concat([wavHeader(pcm.length), pcm]));
  });

  it('has a random boundary', () => {
    const boundary = () =>
      /^multipart\/form-data; boundary=(voice-note-[0-9a-f-]{36})$/.exec(
        transcriptionForm([], pcm).headers['content-type'],
      )?.[1];
    expect(boundary()).toBeDefined();
    expect(boundary()).not.toBe(boundary());
    const form = transcriptionForm([], pcm);
    expect(body(form).toString()).toContain(`--${form.headers['content-type'].split('=')[1]}\r\n`);
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

describe('wavHeader', () => {
  it('describes 16 kHz mono 16-bit PCM of the given length', () => {
    const header = wavHeader(32_000);
    expect(header).toHaveLength(44);
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
