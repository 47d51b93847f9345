import { basename, join } from 'node:path';
import request, { type Test } from 'supertest';
import { eventually } from './eventually.js';
import { SPEECH } from './speech.js';

export interface Credentials {
  id: string;
  key: string;
  secret: string;
}

/** The real engine gives way to everything else on the machine. */
const FINISHED_MS = 180_000;

/** A client of the public API with the key pair of one account. */
export class ApiClient {
  constructor(
    readonly url: string,
    readonly accountId: string,
    readonly credentials: Credentials,
  ) {}

  /** The same credentials at another process. */
  at(url: string): ApiClient {
    return new ApiClient(url, this.accountId, this.credentials);
  }

  get(path: string): Test {
    return request(this.url).get(path).set(this.headers);
  }

  post(path: string, body?: object): Test {
    return request(this.url).post(path).set(this.headers).send(body);
  }

  put(path: string, body: object): Test {
    return request(this.url).put(path).set(this.headers).send(body);
  }

  patch(path: string, body: object): Test {
    return request(this.url).patch(path).set(this.headers).send(body);
  }

  delete(path: string): Test {
    return request(this.url).delete(path).set(this.headers);
  }

  /** @param audio bytes, or the name of a recording in {@link SPEECH}. */
  upload(audio: string | Buffer, fields: Record<string, string> = {}, filename?: string): Test {
    let upload = request(this.url).post('/v1/recordings').set(this.headers);
    for (const [name, value] of Object.entries(fields)) upload = upload.field(name, value);
    return typeof audio === 'string'
      ? upload.attach('file', join(SPEECH, audio), filename ?? basename(audio))
      : upload.attach('file', audio, filename ?? 'note.wav');
  }

  /** The recording once it has reached a terminal state. */
  async finished(id: string): Promise<Record<string, unknown>> {
    return await eventually(async () => {
      const { body } = await this.get(`/v1/recordings/${id}`).expect(200);
      return (body as { status: string }).status === 'processing' ? null : (body as Record<string, unknown>);
    }, FINISHED_MS);
  }

  get headers(): Record<string, string> {
    return { 'X-Service-API-Key': this.credentials.key, 'X-Service-API-Secret': this.credentials.secret };
  }
}
