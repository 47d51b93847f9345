import express from 'express';
import { knownMethods } from './unknown-path.controller.js';

describe('knownMethods', () => {
  const app = express();
  const answer = (_: express.Request, response: express.Response): void => void response.end();
  app.use(answer);
  app.get('/v1/things/:id', answer).delete('/v1/things/:id', answer);
  app.post('/v1/things', answer).get('/v1/things', answer).get('/v1/things', answer);
  app.all(['/v1', '/v1/{*path}'], answer).put('/v1/{*path}', answer);

  it.each([
    ['/v1/things', ['POST', 'GET']],
    ['/v1/things/1', ['GET', 'DELETE']],
    ['/v1/nothing', []],
    ['/v1', []],
  ])('of %s are %j', (path, methods) => {
    expect(knownMethods(app, path)).toEqual(methods);
  });
});
