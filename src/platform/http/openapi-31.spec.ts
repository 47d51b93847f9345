import type { OpenAPIObject } from '@nestjs/swagger';
import { asOpenApi31 } from './openapi-31.js';

const schemaOf = (schema: object): unknown =>
  asOpenApi31({ components: { schemas: { One: schema } } } as unknown as OpenAPIObject).components?.schemas?.One;

describe('the description as OpenAPI 3.1', () => {
  it.each([
    [{ type: 'string', nullable: true }, { type: ['string', 'null'] }],
    [
      { type: 'string', nullable: true, enum: ['a'] },
      { type: ['string', 'null'], enum: ['a', null] },
    ],
    [{ type: 'object', nullable: true, enum: [null] }, { type: 'null' }],
    [{ nullable: true, allOf: [{ $ref: '#/x' }] }, { oneOf: [{ $ref: '#/x' }, { type: 'null' }] }],
    [{ type: 'string', nullable: false }, { type: 'string' }],
    [
      { type: 'object', properties: { nullable: { type: 'boolean' } } },
      { type: 'object', properties: { nullable: { type: 'boolean' } } },
    ],
    [
      { type: 'object', example: { nullable: true } },
      { type: 'object', example: { nullable: true } },
    ],
  ])('writes %j', (written, expected) => {
    expect(schemaOf(written)).toEqual(expected);
  });

  it('has an object for each alternative instead of oneOf beside properties', () => {
    const text = { type: 'string' };
    const either = {
      type: 'object',
      properties: { text, words: text, note: text },
      oneOf: [{ required: ['text'] }, { required: ['words'] }],
    };
    expect(schemaOf(either)).toEqual({
      oneOf: [
        { type: 'object', required: ['text'], properties: { text, note: text } },
        { type: 'object', required: ['words'], properties: { words: text, note: text } },
      ],
    });
  });
});
