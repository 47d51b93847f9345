import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common';
import { JsonBody } from './json-body.js';

/** Reads the body of a handler with a `@Body()` parameter. Pipes run after the guards (D14). */
@Injectable()
export class JsonBodyPipe implements PipeTransform {
  transform(value: unknown, { type }: ArgumentMetadata): unknown {
    return type === 'body' && value instanceof JsonBody ? value.read() : value;
  }
}
