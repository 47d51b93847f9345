import fc from 'fast-check';
import type { Schema } from './description.js';
import type { Form, FormPart } from './plan.js';
import { AUDIO_NAMES, DAMAGED_NAMES, REFUSED_NAMES } from './samples.js';
import { nastyText, UNKNOWN_NAMES, valueOf } from './values.js';

/** A form is sent as UTF-8, which has no lone surrogates. */
const text = (): fc.Arbitrary<string> => nastyText().map((value) => value.toWellFormed());

export function forms(schema: Schema, bad: boolean): fc.Arbitrary<Form> {
  const right = rightParts(schema);
  if (!bad) return right.map((parts) => ({ kind: 'form', parts, complete: true, contentType: 'form' }));
  return fc.oneof(
    { weight: 6, arbitrary: badParts(schema, right).map((parts) => whole(parts)) },
    { weight: 1, arbitrary: right.map((parts) => ({ ...whole(parts), complete: false })) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(right, fc.constantFrom('json' as const, 'without boundary' as const))
        .map(([parts, contentType]) => ({ ...whole(parts), contentType })),
    },
  );
}

const whole = (parts: FormPart[]): Form => ({ kind: 'form', parts, complete: true, contentType: 'form' });

function rightParts({ properties = {}, required = [] }: Schema): fc.Arbitrary<FormPart[]> {
  const parts = Object.entries(properties).map(([name, schema]) => {
    const part = rightPart(name, schema);
    return required.includes(name) ? part : fc.option(part, { freq: 2 });
  });
  return fc
    .tuple(...parts)
    .chain((some) => fc.shuffledSubarray(some, { minLength: some.length }))
    .map((some) => some.filter((part) => part !== null));
}

function rightPart(name: string, schema: Schema): fc.Arbitrary<FormPart> {
  if (schema.format !== 'binary') {
    return valueOf(schema).map((value) => ({ name, content: String(value).toWellFormed() }));
  }
  const content = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...AUDIO_NAMES) },
    { weight: 1, arbitrary: fc.constantFrom(...DAMAGED_NAMES) },
  );
  const filename = fc.oneof(fc.constant('note.wav'), text());
  return fc.record({ name: fc.constant(name), filename, content });
}

function badParts({ properties = {} }: Schema, right: fc.Arbitrary<FormPart[]>): fc.Arbitrary<FormPart[]> {
  const mistakes: fc.Arbitrary<FormPart[]>[] = [
    fc
      .tuple(right, fc.constantFrom(...UNKNOWN_NAMES), text())
      .map(([parts, name, content]) => [{ name, content }, ...parts]),
    fc
      .tuple(right, fc.constantFrom(...UNKNOWN_NAMES))
      .map(([parts, name]) => [...parts, { name, filename: 'a.wav', content: 'silence' }]),
    right.chain((parts) => fc.subarray(parts, { maxLength: parts.length - 1 })),
    right.map((parts) => [...parts, ...parts]),
    fc.constant(Array.from({ length: 200 }, () => ({ name: 'language', content: 'english' }))),
  ];
  for (const [name, { format }] of Object.entries(properties)) {
    const isBinary = format === 'binary';
    const wrong: fc.Arbitrary<FormPart> = isBinary
      ? fc.oneof(
          fc.constantFrom(...REFUSED_NAMES).map((content) => ({ name, filename: 'note.wav', content })),
          text().map((content) => ({ name, content })),
        )
      : fc.oneof(
          fc.constant({ name, filename: 'a.wav', content: 'silence' }),
          fc.oneof(text(), fc.json()).map((content) => ({ name, content })),
        );
    mistakes.push(
      fc.tuple(right, wrong).map(([parts, part]) => [...parts.filter((other) => other.name !== name), part]),
    );
  }
  return fc.oneof(...mistakes);
}
