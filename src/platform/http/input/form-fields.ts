import { InvalidRequestError } from '../../errors/errors.js';
import { anyOf } from './text-rules.js';

/** A text field of a multipart form. */
export interface FormField {
  /** Undefined for a part without one. */
  name: string | undefined;
  /** Undefined for text in a character set that the parser does not know. */
  value: string | undefined;
  isTruncated: boolean;
}

/** Takes the text fields of one form, as they arrive. */
export interface FormFields {
  /** What a form may have beside its file. */
  readonly maxFields: number;
  /** For messages about the form. */
  readonly names: readonly string[];
  /** Whether the fields so far stand for a file. */
  readonly mayLackFile?: boolean;
  /** @returns what is wrong with the field. */
  add(field: FormField): InvalidRequestError | null;
}

/** For a part that the form does not have. @param names of the fields beside the file */
export function unknownField(name: string | undefined, names: readonly string[]): InvalidRequestError {
  return new InvalidRequestError({
    field: (name ?? '').toWellFormed(),
    reason: `is not a field of this form. Use ${anyOf(['file', ...names])}`,
  });
}

/** Longer values are cut off. */
export const MAX_FIELD_BYTES = 16_384;
