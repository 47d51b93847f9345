import { ApiProperty } from '@nestjs/swagger';

export class ModelView {
  @ApiProperty({ example: 'whisper-1' })
  id: string;

  @ApiProperty({ enum: ['model'] })
  object: 'model';

  /** Unix time in seconds. Always 0: a name stands for whatever engine the service has. */
  @ApiProperty({ type: 'integer', example: 0 })
  created: number;

  @ApiProperty({ example: 'system' })
  owned_by: string;
}

export class ModelsView {
  @ApiProperty({ enum: ['list'] })
  object: 'list';

  data: ModelView[];
}

export const presentModel = (id: string): ModelView => ({ id, object: 'model', created: 0, owned_by: 'system' });
