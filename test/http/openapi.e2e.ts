import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type OpenAPIObject } from '@nestjs/swagger';
import request from 'supertest';
import { routesOf } from '../support/http/routes.js';
import { useService } from '../../src/testing/test-service.js';
import { ROOT } from '../support/paths.js';

describe('the description of the API', () => {
  let document: OpenAPIObject;

  const service = useService({ ROLES: 'api' });

  beforeAll(async () => {
    document = JSON.parse(await readFile(join(ROOT, 'openapi.json'), 'utf8'));
  });

  it('in the repository is the one of the built service: after a change run "npm run openapi"', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [join(ROOT, 'dist', 'commands', 'openapi.js')]);
    expect(JSON.parse(stdout)).toEqual(document);
  });

  it('names every operation that the router knows, and no other', () => {
    const described = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`),
    );
    expect(described.toSorted()).toEqual(routesOf(service.app).toSorted());
  });

  it('says for every operation which scope it needs, what it answers, and which errors there are', () => {
    for (const item of Object.values(document.paths)) {
      for (const operation of Object.values(item) as Record<string, unknown>[]) {
        // One that takes no credentials says so.
        if (operation.security === undefined)
          expect(operation['x-required-scope']).toMatch(/^(recordings|webhooks|account):(read|write)$/);
        else if (operation['x-required-scope'] === undefined) expect(operation.security).toEqual([]);
        expect(Object.keys(operation.responses as object)).toEqual(
          expect.arrayContaining(['400', '401', '403', '429', '500', '503']),
        );
      }
    }
  });

  it('is summed up in 2,000 words at /llms.txt, every path included', async () => {
    const { text } = await request(service.url)
      .get('/llms.txt')
      .expect(200)
      .expect('Content-Type', /^text\/plain/);
    expect(text.split(/\s+/).length).toBeLessThan(2000);
    const names = Object.keys(document.paths).map((path) =>
      path
        .replaceAll(/\/\{\w+\}/g, '')
        .split('/')
        .at(-1),
    );
    expect(names.filter((name) => !text.includes(`/${name}`))).toEqual([]);
  });

  it('gives an example for every field of every answer', () => {
    const withoutExample = Object.entries(document.components?.schemas ?? {})
      .filter(([name]) => name.endsWith('View'))
      .flatMap(([name, schema]) =>
        Object.entries((schema as { properties: Record<string, object> }).properties)
          .filter(([, property]) => !['example', 'enum', '$ref', 'allOf', 'items'].some((key) => key in property))
          .map(([property]) => `${name}.${property}`),
      );
    expect(withoutExample).toEqual([]);
  });
});
