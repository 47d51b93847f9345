import { All, Controller } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from '../access/access.decorators.js';
import { NotFoundError } from '../platform/errors/errors.js';

/** Whatever no other controller answers: 404 with or without credentials, but limited like everything else (D6). */
@ApiExcludeController()
@Controller()
export class UnknownPathController {
  @All(['v1', 'v1/*path'])
  @Public()
  refuse(): never {
    throw new NotFoundError('path');
  }
}
