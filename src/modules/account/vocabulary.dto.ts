import { ApiProperty } from '@nestjs/swagger';
import { IsVocabulary } from '../../platform/http/input/rules.js';

export class VocabularyDto {
  /** Names and words to expect, the most important first. Replaces the list before; an empty list removes it. */
  @IsVocabulary()
  vocabulary: string[];
}

export class VocabularyView {
  /** Without white space around terms, and each term once. */
  @ApiProperty({ type: [String], example: ['Grafana', 'Zoë'] })
  vocabulary: string[];
}
