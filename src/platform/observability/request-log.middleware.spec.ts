import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import express, { type Request, type Response } from 'express';
import request from 'supertest';
import { RequestLogMiddleware } from './request-log.middleware.js';

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

describe('RequestLogMiddleware', () => {
  const written: string[] = [];
  const lines = () => written.flatMap((text) => text.trimEnd().split('\n')).map((line) => JSON.parse(line) as object);

  function appWith(levels: { logsAnswers: boolean; logsFailures: boolean }) {
    const log = new RequestLogMiddleware({ destination: { write: (text) => void written.push(text) }, ...levels });
    const app = express();
    app.use(log.use.bind(log));
    app.use('/broken', (_request: Request, response: Response) => void response.status(500).end());
    app.use('/endless', (_request: Request, response: Response) => void response.write('…'));
    app.use((_request: Request, response: Response) => void response.end('{}'));
    return app;
  }

  beforeEach(() => written.splice(0));

  it('writes one line for each request, without its query, and the lines of one turn together', async () => {
    const server = appWith({ logsAnswers: true, logsFailures: true }).listen(0);
    await Promise.all([
      request(server).get('/v1/recordings?limit=5').set('X-Request-Id', 'mine'),
      request(server).post('/broken'),
    ]);
    await turn();
    server.close();
    const common = { time: expect.any(Number), pid: process.pid, address: expect.stringMatching(/127\.0\.0\.1$/) };
    const duration = { duration_ms: expect.any(Number), msg: 'answered' };
    expect(lines()).toHaveLength(2);
    expect(lines()).toContainEqual({
      ...common,
      ...duration,
      level: 'info',
      request_id: 'mine',
      method: 'GET',
      path: '/v1/recordings',
      status: 200,
    });
    expect(lines()).toContainEqual(
      expect.objectContaining({ level: 'error', method: 'POST', path: '/broken', status: 500 }),
    );
    for (const text of written) expect(text).toMatch(/\n$/);
  });

  it('hides a secret in the path, and does not log health checks', async () => {
    const app = appWith({ logsAnswers: true, logsFailures: true });
    await request(app).get('/v1/webhooks/whsec_abc/def');
    await request(app).get('/health/live');
    await turn();
    expect(lines()).toEqual([expect.objectContaining({ path: '/v1/webhooks/whsec_…' })]);
  });

  it('marks an aborted request', async () => {
    const server = appWith({ logsAnswers: true, logsFailures: true }).listen(0);
    const socket = connect((server.address() as AddressInfo).port);
    socket.write('GET /endless HTTP/1.1\r\nHost: here\r\n\r\n');
    await once(socket, 'data');
    socket.destroy();
    while (written.length === 0) await turn();
    server.close();
    expect(lines()).toEqual([expect.objectContaining({ path: '/endless', aborted: true })]);
  });

  it('obeys the log level', async () => {
    await request(appWith({ logsAnswers: false, logsFailures: true })).get('/fine');
    await request(appWith({ logsAnswers: false, logsFailures: true })).get('/broken');
    await request(appWith({ logsAnswers: false, logsFailures: false })).get('/broken');
    await turn();
    expect(lines()).toEqual([expect.objectContaining({ path: '/broken' })]);
  });
});
