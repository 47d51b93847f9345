import { ApiProperty } from '@nestjs/swagger';
import { IsOmittable, IsText, IsVocabulary } from '../../../platform/http/input/rules.js';

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
  @IsVocabulary()
  vocabulary?: string[];
}
