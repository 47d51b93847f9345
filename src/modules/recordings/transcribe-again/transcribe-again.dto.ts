import { ApiProperty } from '@nestjs/swagger';
import { IsOmittable, IsText } from '../../../platform/http/input/rules.js';

export class TranscribeAgainDto {
  /**
   * Engine to use, by its name. By default as configured.
   * @example pocketsphinx
   */
  @IsOmittable()
  @IsText(1, 100)
  engine?: string;

  /** English name of the language spoken. By default as before. */
  @IsOmittable()
  @IsText(1, 100)
  @ApiProperty({ example: 'english' })
  language?: string;
}
