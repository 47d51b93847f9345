import type { OpenAPIObject } from '@nestjs/swagger';
import { readDocument, resolvedSchema, violations } from '../../../../test/support/fuzz/description.js';
import { describeEvents } from './event-catalogue.openapi.js';
import { eventCatalogue, registerEventKind } from './event-catalogue.js';
import { presentEventTypes } from './event-types.dto.js';

const CORE = [
  'recording.transcribed',
  'recording.failed',
  'transcription.corrected',
  'recording.partial',
  'recording.accepted',
  'recording.deleted',
  'webhook.test',
];

describe('the catalogue of events', () => {
  it('has each kind once, with an example of that kind', () => {
    const kinds = eventCatalogue();
    expect(kinds.map(({ kind }) => kind)).toEqual(CORE);
    for (const { kind, example } of kinds) expect(example).toMatchObject({ event: kind });
  });

  it.each(eventCatalogue())('describes the body of $kind as it is written', ({ kind, example }) => {
    const document = readDocument();
    const names = Object.keys(document.components.schemas).filter((name) => name.endsWith('Body'));
    const described = names
      .map((name) => resolvedSchema(name, document))
      .filter(({ properties }) => properties?.event?.enum?.[0] === kind);
    expect(described).toHaveLength(1);
    expect(violations(described[0]!, example)).toEqual([]);
    expect(violations(described[0]!, { ...example, other: 1 })).not.toEqual([]);
  });

  it('takes a kind of an extension with its schema and example, or its name alone', () => {
    const example = { event: 'keyword.matched', keywords: ['invoice'] };
    const schema = { required: ['keywords'], properties: { keywords: { type: 'array', items: { type: 'string' } } } };
    registerEventKind({ kind: 'keyword.matched', description: 'A keyword was said.', schema, example });
    registerEventKind('alarm.raised');
    expect(() => registerEventKind('webhook.test')).toThrow('webhook.test is a kind of the service');

    const document = { paths: {}, components: {} } as unknown as OpenAPIObject;
    describeEvents(document);
    expect(Object.keys(document.webhooks ?? {})).toEqual([
      'recording.transcribed',
      'recording.failed',
      'transcription.corrected',
      'recording.partial',
      'keyword.matched',
      'alarm.raised',
      'webhook.test',
    ]);
    expect(document.components?.schemas).toMatchObject({
      KeywordMatchedBody: {
        type: 'object',
        required: ['event', 'keywords'],
        properties: { event: { enum: ['keyword.matched'] }, keywords: { type: 'array' } },
      },
      AlarmRaisedBody: { required: ['event'], additionalProperties: true },
    });
    expect(document.components?.schemas?.EventBody).toMatchObject({
      discriminator: { mapping: { 'alarm.raised': '#/components/schemas/AlarmRaisedBody' } },
    });
    expect(presentEventTypes(eventCatalogue()).event_types).toEqual(
      expect.arrayContaining([
        {
          name: 'keyword.matched',
          description: 'A keyword was said.',
          can_subscribe: true,
          in_feed: true,
          example,
        },
        expect.objectContaining({ name: 'alarm.raised', example: { event: 'alarm.raised' } }),
      ]),
    );
  });
});
