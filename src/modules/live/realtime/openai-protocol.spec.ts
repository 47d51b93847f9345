import type { LiveRecording } from '../live-recordings.service.js';
import { OpenAiProtocol } from './openai-protocol.js';
import type { RecordingSettings } from './realtime-client.js';

interface Sent {
  type: string;
  event_id: string;
  item_id?: string;
  session?: Record<string, unknown>;
  error?: { message: string; param: string | null; code: string; type: string; event_id: string | null };
}

const SETTINGS: RecordingSettings = {
  audio: { format: 'pcm16', sampleRate: 24_000 },
  language: 'english',
  languages: null,
  vocabulary: ['Grafana'],
  title: 'A note',
  speakers: '2',
  diarize: null,
  customTags: '{"ticket":"T-1"}',
};
const RECORDING = {
  recordingId: '019aa5c1-0d3e-7a55-b0f4-9a1c2e7d4b60',
  storedBytes: 4800,
  cutsAtPauses: true,
} as LiveRecording;
const ITEM = 'item_019aa5c10d3e7a55b0f49a1c2e7d4b60_';

describe('OpenAiProtocol', () => {
  let sent: Sent[];
  let audio: Buffer[];
  let cuts: object[];
  let finished: boolean;
  let refusals: number;
  let protocol: OpenAiProtocol;

  const start = (isBeta = false): void => {
    [sent, audio, cuts, finished, refusals] = [[], [], [], false, 0];
    const controls = {
      send: (message: object) => sent.push(message as Sent),
      addAudio: (bytes: Buffer) => audio.push(bytes),
      cut: (cut: object) => cuts.push(cut),
      finish: () => (finished = true),
      countRefusal: () => refusals++,
    };
    protocol = new OpenAiProtocol(controls, SETTINGS, isBeta);
  };
  beforeEach(() => start());

  const send = (event: unknown): Sent | undefined => {
    protocol.receive(Buffer.from(typeof event === 'string' ? event : JSON.stringify(event)), false);
    return sent.at(-1);
  };
  const append = (text: string): Sent | undefined => send({ type: 'input_audio_buffer.append', audio: text });
  const update = (session: unknown): Sent | undefined => send({ type: 'session.update', session });
  const types = (): string[] => sent.map(({ type }) => type);

  it('opens with the session as it is by default, of the beta in its form', () => {
    protocol.opened(null);
    expect(sent).toEqual([
      {
        type: 'session.created',
        event_id: expect.stringMatching(/^event_/),
        session: {
          type: 'transcription',
          object: 'realtime.transcription_session',
          id: expect.stringMatching(/^sess_/),
          audio: {
            input: {
              format: { type: 'audio/pcm', rate: 24_000 },
              transcription: null,
              noise_reduction: null,
              turn_detection: {
                type: 'server_vad',
                threshold: 0.5,
                prefix_padding_ms: 300,
                silence_duration_ms: 500,
              },
            },
          },
          include: null,
        },
      },
    ]);
    start(true);
    protocol.opened(null);
    expect(sent[0]).toMatchObject({
      type: 'transcription_session.created',
      session: { input_audio_format: 'pcm16', modalities: ['text'] },
    });
  });

  it('says where to go on', () => {
    protocol.opened(RECORDING);
    expect(types()).toEqual(['session.created', 'recording.resumed']);
    expect(sent[1]).toMatchObject({ recording_id: RECORDING.recordingId, stored_bytes: 4800 });
  });

  it('takes settings, shows them again, and begins the recording with them', () => {
    const transcription = { model: 'gpt-4o-transcribe', language: 'de', prompt: 'Prometheus, Zoë' };
    const updated = update({
      type: 'transcription',
      audio: {
        input: {
          format: { type: 'audio/pcm', rate: 16_000 },
          transcription,
          noise_reduction: { type: 'near_field' },
          turn_detection: { type: 'server_vad', silence_duration_ms: 300 },
        },
      },
      include: ['item.input_audio_transcription.logprobs'],
    });
    expect(updated).toMatchObject({
      type: 'session.updated',
      session: {
        audio: {
          input: {
            format: { rate: 16_000 },
            transcription,
            noise_reduction: { type: 'near_field' },
            turn_detection: { threshold: 0.5, silence_duration_ms: 300 },
          },
        },
      },
    });
    expect(update({ type: 'transcription', audio: { input: { turn_detection: null } } })).toMatchObject({
      session: { audio: { input: { turn_detection: null, transcription } } },
    });
    expect(protocol.settings()).toEqual({
      audio: { format: 'pcm16', sampleRate: 16_000 },
      language: 'german',
      languages: null,
      vocabulary: ['Prometheus', 'Zoë'],
      title: 'A note',
      speakers: '2',
      diarize: null,
      customTags: '{"ticket":"T-1"}',
      cutsAtPauses: false,
    });
  });

  it('keeps what the query said where a session says nothing', () => {
    update({ type: 'transcription', audio: { input: { transcription: { model: 'whisper-1' } } } });
    expect(protocol.settings()).toEqual({ ...SETTINGS, cutsAtPauses: true });
  });

  it('takes speakers and tags, in the form of the beta as well, and shows the tags again', () => {
    const tags = { ticket: 'T-2' };
    expect(
      update({ audio: { input: { transcription: { speakers: 'auto', diarize: true } } }, custom_tags: tags }),
    ).toMatchObject({ session: { custom_tags: tags } });
    const chosen = { speakers: 'auto', diarize: 'true', customTags: '{"ticket":"T-2"}' };
    expect(protocol.settings()).toMatchObject(chosen);
    start(true);
    const session = { input_audio_transcription: { speakers: 3 }, custom_tags: tags };
    expect(send({ type: 'transcription_session.update', session })).toMatchObject({ session: { custom_tags: tags } });
    expect(protocol.settings()).toMatchObject({ speakers: '3', diarize: null, customTags: '{"ticket":"T-2"}' });
    append('AAAA'.repeat(2));
    expect(update({ custom_tags: { ticket: 'T-3' } })?.error).toMatchObject({ param: 'session.custom_tags' });
    expect(update({ audio: { input: { transcription: { speakers: 4 } } } })?.error).toMatchObject({
      param: 'session.audio.input.transcription',
    });
  });

  it('takes the settings of the beta', () => {
    const session = { input_audio_format: 'pcm16', input_audio_transcription: { language: 'fr' } };
    expect(send({ type: 'transcription_session.update', session })).toMatchObject({
      type: 'transcription_session.updated',
      session: { input_audio_transcription: { language: 'fr' } },
    });
    expect(protocol.settings().language).toBe('french');
  });

  it.each<[string, unknown, string, RegExp]>([
    ['no object', 'x', 'session', /must be an object/],
    ['a conversation', { type: 'realtime' }, 'session.type', /must be transcription/],
    [
      'another format',
      { audio: { input: { format: { type: 'audio/pcmu' } } } },
      'session.audio.input.format.type',
      /audio\/pcm/,
    ],
    [
      'another rate',
      { audio: { input: { format: { type: 'audio/pcm', rate: 8000 } } } },
      'session.audio.input.format.rate',
      /24000/,
    ],
    [
      'no language',
      { audio: { input: { transcription: { language: 'xx-q' } } } },
      'session.audio.input.transcription.language',
      /ISO 639/,
    ],
    [
      'languages',
      { audio: { input: { transcription: { languages: 'en' } } } },
      'session.audio.input.transcription.languages',
      /list/,
    ],
    [
      'keywords',
      { audio: { input: { transcription: { keywords: [1] } } } },
      'session.audio.input.transcription.keywords',
      /list of texts/,
    ],
    [
      'a long prompt',
      { audio: { input: { transcription: { prompt: 'x'.repeat(9000) } } } },
      'session.audio.input.transcription.prompt',
      /8192/,
    ],
    [
      'detection',
      { audio: { input: { turn_detection: { type: 'other' } } } },
      'session.audio.input.turn_detection.type',
      /server_vad/,
    ],
    [
      'a number',
      { audio: { input: { turn_detection: { threshold: 'x' } } } },
      'session.audio.input.turn_detection.threshold',
      /number/,
    ],
    [
      'speakers',
      { audio: { input: { transcription: { speakers: 21 } } } },
      'session.audio.input.transcription.speakers',
      /auto or an integer from 1 to 20/,
    ],
    [
      'a wish for speakers',
      { audio: { input: { transcription: { diarize: 'yes' } } } },
      'session.audio.input.transcription.diarize',
      /true or false/,
    ],
    [
      'speakers and none',
      { audio: { input: { transcription: { diarize: false, speakers: 2 } } } },
      'session.audio.input.transcription.diarize',
      /together with speakers/,
    ],
    ['tags', { custom_tags: { ticket: 1 } }, 'session.custom_tags', /value of "ticket" must be a string/],
    ['noise', { audio: { input: { noise_reduction: 3 } } }, 'session.audio.input.noise_reduction', /object/],
  ])('names the field and the rule of wrong settings, and changes nothing: %s', (_, session, param, rule) => {
    const before = protocol.settings();
    const { type, error } = send({ type: 'session.update', event_id: 'mine', session }) as Sent;
    expect([type, error?.type, error?.param, error?.event_id]).toEqual([
      'error',
      'invalid_request_error',
      param,
      'mine',
    ]);
    expect(error?.message).toMatch(rule);
    expect(protocol.settings()).toEqual(before);
    expect(refusals).toBe(1);
  });

  it('changes no language after the first audio, and takes the same settings again', () => {
    append('AAAA'.repeat(2));
    const transcription = { language: 'de' };
    expect(update({ audio: { input: { transcription } } })?.error).toMatchObject({
      param: 'session.audio.input.transcription',
      message: expect.stringContaining('after the first audio'),
    });
    expect(update({ audio: { input: { transcription: { language: 'en' }, turn_detection: null } } })?.type).toBe(
      'session.updated',
    );
  });

  it.each<[string, unknown, string | null, RegExp]>([
    ['broken JSON', '{"type":', null, /not valid JSON/],
    ['a list', '[]', null, /JSON object/],
    ['no type', '{}', 'type', /is required/],
    ['a type that is no text', '{"type":1}', 'type', /must be text/],
    ['an unknown type', '{"type":"response.create"}', 'type', /"response.create" is not a type of a transcription/],
    ['a hostile type', '{"type":"<script>"}', 'type', /^type: Unknown\. Use one of session\.update/],
    ['a name of every object', '{"type":"constructor"}', 'type', /not a type/],
    ['an event id', '{"type":"session.update","event_id":7}', 'event_id', /at most 512/],
    ['no audio', '{"type":"input_audio_buffer.append"}', 'audio', /is required/],
    ['audio that is no text', '{"type":"input_audio_buffer.append","audio":[1]}', 'audio', /base64/],
    ['empty audio', '{"type":"input_audio_buffer.append","audio":""}', 'audio', /must not be empty/],
    ['audio that is no base64', '{"type":"input_audio_buffer.append","audio":"AA-_"}', 'audio', /base64/],
    ['audio without padding', '{"type":"input_audio_buffer.append","audio":"AAA"}', 'audio', /padding/],
    ['half a sample', '{"type":"input_audio_buffer.append","audio":"AAAA"}', 'audio', /whole samples.*3 bytes/],
    ['a commit without audio', '{"type":"input_audio_buffer.commit"}', null, /append some first/],
  ])('answers what is wrong with an error, and goes on: %s', (_, message, param, rule) => {
    const { type, error } = send(message) as Sent;
    expect([type, error?.param]).toEqual(['error', param]);
    expect(error?.message).toMatch(rule);
    expect(audio).toEqual([]);
    append('AAAA'.repeat(2));
    expect(audio).toHaveLength(1);
  });

  it('refuses binary messages, and parts that are too large', () => {
    protocol.receive(Buffer.alloc(4), true);
    append(Buffer.alloc(1024 * 1024 + 2).toString('base64'));
    expect(sent.map(({ error }) => error?.message)).toEqual([
      expect.stringContaining('must be JSON text'),
      expect.stringContaining('at most 1048576 bytes; this has 1048578'),
    ]);
  });

  it('tells an utterance in the events of OpenAI, under names that are the same on every connection', () => {
    protocol.began(RECORDING);
    protocol.speechStarted(0, 0.25);
    protocol.delta(0, 'go');
    protocol.speechStopped(0, 1.5);
    protocol.final({ item: 0, text: 'go', start: 0.25, end: 1.5 });
    protocol.final({ item: 1, text: 'on', start: 2, end: 3 });
    expect(types()).toEqual([
      'recording.started',
      'input_audio_buffer.speech_started',
      'conversation.item.input_audio_transcription.delta',
      'input_audio_buffer.speech_stopped',
      'input_audio_buffer.committed',
      'conversation.item.added',
      'conversation.item.done',
      'conversation.item.input_audio_transcription.completed',
      'input_audio_buffer.committed',
      'conversation.item.added',
      'conversation.item.done',
      'conversation.item.input_audio_transcription.completed',
    ]);
    expect(sent[1]).toMatchObject({ audio_start_ms: 250, item_id: `${ITEM}0` });
    expect(sent[3]).toMatchObject({ audio_end_ms: 1500, item_id: `${ITEM}0` });
    expect(sent[7]).toMatchObject({ transcript: 'go', content_index: 0, usage: { type: 'duration', seconds: 2 } });
    expect(sent[8]).toMatchObject({ item_id: `${ITEM}1`, previous_item_id: `${ITEM}0` });
  });

  it('tells the beta of its items', () => {
    start(true);
    protocol.began(RECORDING);
    protocol.speechStopped(0, 1);
    expect(types().slice(-2)).toEqual(['input_audio_buffer.committed', 'conversation.item.created']);
  });

  describe('without detection of turns', () => {
    const MANUAL = { audio: { input: { turn_detection: null } } };
    /** 100 ms. */
    const PIECE = Buffer.alloc(4800).toString('base64');

    it('ends an utterance with each commit, and tells its item when that is reached', () => {
      update(MANUAL);
      append(PIECE);
      protocol.began(RECORDING);
      protocol.speechStarted(0, 0);
      send({ type: 'input_audio_buffer.commit' });
      expect(cuts).toEqual([{ isCommit: true, atPauses: false }]);
      expect(types()).toEqual(['session.updated', 'recording.started']);
      protocol.speechStopped(0, 0.1);
      protocol.final({ item: 0, text: 'go', start: 0, end: 0.1 });
      expect(types().slice(2)).toEqual([
        'input_audio_buffer.committed',
        'conversation.item.added',
        'conversation.item.done',
        'conversation.item.input_audio_transcription.completed',
      ]);
      expect(sent[2]).toMatchObject({ item_id: `${ITEM}0`, previous_item_id: null });
    });

    it('refuses a commit of less than 100 ms', () => {
      update(MANUAL);
      append('AAAA'.repeat(2));
      expect(send({ type: 'input_audio_buffer.commit' })?.error).toMatchObject({
        code: 'input_audio_buffer_commit_empty',
        message: expect.stringContaining('100 ms'),
      });
      append(PIECE);
      send({ type: 'input_audio_buffer.commit' });
      send({ type: 'input_audio_buffer.commit' });
      expect(types()).toEqual(['session.updated', 'error', 'error']);
      expect(cuts).toHaveLength(1);
    });

    it('fails the item of a commit where no words follow, with the reason', () => {
      update(MANUAL);
      append(PIECE);
      protocol.began(RECORDING);
      send({ type: 'input_audio_buffer.commit' });
      protocol.problem('No engine.');
      protocol.wordsEnded();
      const failed = 'conversation.item.input_audio_transcription.failed';
      expect(sent.at(-1)).toMatchObject({ type: failed, item_id: `${ITEM}0`, error: { message: 'No engine.' } });
      append(PIECE);
      send({ type: 'input_audio_buffer.commit' });
      expect(sent.at(-1)).toMatchObject({ type: failed, item_id: `${ITEM}1` });
      expect(types().filter((type) => type === 'input_audio_buffer.committed')).toHaveLength(2);
    });

    it('is as the recording has it that goes on, and changes from the audio on that follows', () => {
      protocol.opened({ ...RECORDING, cutsAtPauses: false });
      expect(sent[0]).toMatchObject({ session: { audio: { input: { turn_detection: null } } } });
      update(MANUAL);
      expect(cuts).toEqual([]);
      update({ audio: { input: { turn_detection: { type: 'server_vad' } } } });
      expect(cuts).toEqual([{ isCommit: false, atPauses: true }]);
      protocol.speechStarted(3, 1);
      expect(types().at(-1)).toBe('input_audio_buffer.speech_started');
    });
  });

  it('answers a commit with the item whose words come, also before the recording has begun', () => {
    append('AAAA'.repeat(2));
    send({ type: 'input_audio_buffer.commit' });
    expect(types()).toEqual([]);
    protocol.began(RECORDING);
    expect(sent[1]).toMatchObject({ type: 'input_audio_buffer.committed', item_id: `${ITEM}0` });
    protocol.speechStopped(0, 1);
    protocol.final({ item: 0, text: 'go', start: 0, end: 1 });
    expect(types().filter((type) => type === 'input_audio_buffer.committed')).toHaveLength(1);
    append('AAAA'.repeat(2));
    expect(send({ type: 'input_audio_buffer.commit' })?.type).toBe('conversation.item.done');
    expect(sent.at(-3)).toMatchObject({ item_id: `${ITEM}1`, previous_item_id: `${ITEM}0` });
    expect(send({ type: 'input_audio_buffer.clear' })?.type).toBe('input_audio_buffer.cleared');
    send({ type: 'recording.finish' });
    expect(finished).toBe(true);
  });
});
