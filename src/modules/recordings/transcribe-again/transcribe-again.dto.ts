import { ApiProperty } from '@nestjs/swagger';
import { IsOmittable, IsText, IsValid } from '../../../platform/http/input/rules.js';
import { checkVocabulary, MAX_TERM_LENGTH, MAX_TERMS } from '../../../platform/languages/vocabulary.js';

export class TranscribeAgainDto {
  /** Engine to use, by its name. By default as configured. */
  @IsOmittable()
  @IsText(1, 100)
  @ApiProperty({ example: 'pocketsphinx' })
  engine?: string;

  /** English name of the language spoken. By default as before. */
  @IsOmittable()
  @IsText(1, 100)
  @ApiProperty({ example: 'english' })
  language?: string;

  /** Names and words to expect, the most important first. By default as before; an empty list removes them. */
  @IsOmittable()
  @IsValid('isVocabulary', (value) => {
    const checked = checkVocabulary(value);
    return checked.ok ? null : checked.reason;
  })
  @ApiProperty({
    type: 'array',
    maxItems: MAX_TERMS,
    items: { type: 'string', minLength: 1, maxLength: MAX_TERM_LENGTH },
    example: ['Grafana', 'Zoë'],
  })
  vocabulary?: string[];
}
