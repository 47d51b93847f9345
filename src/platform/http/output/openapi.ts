import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { documentErrors } from './openapi-errors.js';

const DESCRIPTION = `Store voice notes, have them transcribed, and be told by signed webhooks.

Errors share one envelope; every response under \`/v1\` carries the three rate limit headers.`;

/** The document that describes this application, built from its controllers and DTOs. */
export function describeApi(app: INestApplication): OpenAPIObject {
  const config = new DocumentBuilder()
    .setTitle('Voice Note Transcription Service')
    .setDescription(DESCRIPTION)
    .setVersion('1.0')
    .addApiKey({ type: 'apiKey', in: 'header', name: 'X-Service-API-Key' }, 'key')
    .addApiKey({ type: 'apiKey', in: 'header', name: 'X-Service-API-Secret' }, 'secret')
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'JWT' }, 'token')
    .addSecurityRequirements({ key: [], secret: [] })
    .build();
  const document = SwaggerModule.createDocument(app, config, { operationIdFactory: operationId });
  return documentErrors(document);
}

/** `recordings.list`: what generated clients name their methods after. */
function operationId(controller: string, method: string): string {
  const resource = controller.replace(/Controller$/, '');
  return `${resource.charAt(0).toLowerCase()}${resource.slice(1)}.${method}`;
}

/** `/docs` for people, `/openapi.json` for programs. */
export function serveOpenApi(app: INestApplication): void {
  SwaggerModule.setup('docs', app, () => describeApi(app), { jsonDocumentUrl: 'openapi.json', raw: ['json'] });
}
