import { ApiProperty } from '@nestjs/swagger';
import { IsValid } from '../../platform/http/input/rules.js';
import { checkVocabulary, MAX_TERM_LENGTH, MAX_TERMS } from '../../platform/languages/vocabulary.js';

export class VocabularyDto {
  /** Names and words to expect, the most important first. Replaces the list before; an empty list removes it. */
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
  vocabulary: string[];
}

export class VocabularyView {
  /** Without white space around terms, and each term once. */
  @ApiProperty({ type: [String], example: ['Grafana', 'Zoë'] })
  vocabulary: string[];
}
