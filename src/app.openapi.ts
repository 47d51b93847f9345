import { readFileSync } from 'node:fs';
import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { describeEvents, eventBodyClasses } from './modules/webhooks/events/event-catalogue.openapi.js';
import { asOpenApi31 } from './platform/http/openapi-31.js';
import { documentCommon } from './platform/http/openapi.js';
import { fixedResponse } from './platform/http/send-text.js';

const TITLE = 'Voice Note Transcription Service';

const DESCRIPTION = `Upload voice notes, get their transcriptions, and receive signed webhooks when they are ready.

Send the two halves of an API key with every request, as \`X-Service-API-Key\` and \`X-Service-API-Secret\`, or as
\`Authorization: Bearer {key}.{secret}\`. A browser or phone app can upload with an access token instead, sent as
\`Authorization: Bearer\`. People sign in with \`POST /v1/sessions\`; the cookie of their session does what their role allows.

Errors share one envelope, described by the schema \`ErrorResponse\`. Responses under \`/v1\` carry the rate limit headers, whatever
their status. Lists are paged by \`page\` and \`limit\`. Times are UTC.`;

const TAGS: Record<string, string> = {
  Account: 'The account that the credentials belong to, and its usage.',
  'API keys': 'Credentials of the servers that call this API. Each key holds scopes.',
  Sessions: 'People who have signed in: the cookie of a session is a credential of the pages of this service.',
  Members: 'People who belong to the account, each with a role, and those who are invited.',
  'Access tokens': 'Short-lived credentials with which the app of one end user uploads recordings.',
  Recordings: 'Voice notes and their transcriptions.',
  Events: 'What has happened to the recordings of the account, in order, as pages or as a stream.',
  Compatible: 'Transcription as clients of OpenAI ask for it. Errors have the shape of OpenAI’s.',
  Users: 'The end users that recordings belong to.',
  Webhooks: 'URLs that receive a signed request when a recording was transcribed or failed.',
};

/** The document that describes this application, built from its controllers and DTOs. */
export function describeApi(app: INestApplication): OpenAPIObject {
  const builder = new DocumentBuilder()
    .setTitle(TITLE)
    .setDescription(DESCRIPTION)
    .setVersion(packageVersion())
    .setLicense('MIT', 'https://opensource.org/license/mit')
    .addServer('/', 'This service')
    .addApiKey(
      { type: 'apiKey', in: 'header', name: 'X-Service-API-Key', description: 'Identifies the API key.' },
      'key',
    )
    .addApiKey(
      { type: 'apiKey', in: 'header', name: 'X-Service-API-Secret', description: 'Proves the API key.' },
      'secret',
    )
    .addBearerAuth(
      { type: 'http', scheme: 'bearer', bearerFormat: 'key.secret', description: 'Both halves of the API key.' },
      'pair',
    )
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'An access token.' }, 'token')
    .addCookieAuth(
      '__Host-vnotes-session',
      { type: 'apiKey', in: 'cookie', description: 'The session of a person.' },
      'session',
    )
    .addSecurityRequirements({ key: [], secret: [] })
    .addSecurityRequirements('pair');
  for (const [name, description] of Object.entries(TAGS)) builder.addTag(name, description);
  const document = SwaggerModule.createDocument(app, builder.build(), {
    operationIdFactory: operationId,
    extraModels: eventBodyClasses(),
  });
  describeEvents(document);
  return asOpenApi31(documentCommon(document));
}

function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  return version;
}

/** `recordings.list`: what generated clients name their methods after. */
function operationId(controller: string, method: string): string {
  const resource = controller.replace(/Controller$/, '');
  return `${resource.charAt(0).toLowerCase()}${resource.slice(1)}.${method}`;
}

/** `/docs` for people, `/openapi.json` for programs, `/llms.txt` for assistants: https://llmstxt.org. */
export function serveOpenApi(app: INestApplication): void {
  let built: OpenAPIObject | undefined;
  const document = (): OpenAPIObject => (built ??= describeApi(app));
  const json = fixedResponse('application/json; charset=utf-8', () => JSON.stringify(document()));
  app.getHttpAdapter().get('/openapi.json', json);
  const summary = () => readFileSync(new URL('../docs/for-assistants.md', import.meta.url), 'utf8');
  app.getHttpAdapter().get('/llms.txt', fixedResponse('text/plain; charset=utf-8', summary));
  SwaggerModule.setup('docs', app, document, {
    raw: false,
    customSiteTitle: TITLE,
    // Swagger UI, because it comes with @nestjs/swagger: no CDN, no inline script, and uploads work from its forms.
    swaggerOptions: { persistAuthorization: true, docExpansion: 'list', defaultModelsExpandDepth: 0, filter: true },
  });
}
