import { parametersOf } from './live-parameters';

const NOTE = { name: 'Standup.webm', language: '', tags: {}, speakers: '' };
const asked = (note: typeof NOTE, id: string | null = null) => Object.fromEntries(parametersOf('webm', note, id));

describe('what a live recording begins with', () => {
  it('is what the form says: languages, speakers and tags', () => {
    expect(asked(NOTE)).toEqual({ format: 'webm', title: 'Standup' });
    const described = { ...NOTE, language: 'english,german', tags: { project: 'atlas' }, speakers: 'auto' };
    expect(asked(described)).toEqual({
      format: 'webm',
      title: 'Standup',
      languages: 'english,german',
      speakers: 'auto',
      custom_tags: '{"project":"atlas"}',
    });
    expect(asked({ ...NOTE, language: 'english', speakers: '2' })).toMatchObject({
      language: 'english',
      speakers: '2',
    });
  });

  it('stays as it was when the recording goes on', () => {
    expect(asked({ ...NOTE, speakers: '2' }, 'an-id')).toEqual({ format: 'webm', recording: 'an-id' });
  });
});
