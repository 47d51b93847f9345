import type { OpenAPIObject } from '@nestjs/swagger';

export const documentErrors = (document: OpenAPIObject): OpenAPIObject => document;
