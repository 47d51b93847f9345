import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';

export interface ReadyExport {
  id: string;
  status: string;
  size_bytes: number;
}

/** Exports the account, and waits until the archive is ready. */
export async function exportAccount(owner: ApiClient, waitMs?: number): Promise<ReadyExport> {
  await owner.post('/v1/account/export').expect(202);
  const found = await eventually(async () => {
    const { body } = await owner.get('/v1/account/export').expect(200);
    return body.status !== 'preparing' && (body as ReadyExport);
  }, waitMs);
  expect(found.status).toBe('ready');
  return found;
}

/** The bytes of the archive, or a range of them. */
export async function archiveOf(owner: ApiClient, headers: Record<string, string> = {}): Promise<Buffer> {
  const answer = await owner.get('/v1/account/export/archive').set(headers).buffer(true).parse(collect);
  expect(answer.status).toBe('Range' in headers ? 206 : 200);
  return answer.body as Buffer;
}

export const collect: Parameters<ReturnType<ApiClient['get']>['parse']>[0] = (answer, callback) => {
  const chunks: Buffer[] = [];
  answer.on('data', (chunk: Buffer) => void chunks.push(chunk));
  answer.on('end', () => callback(null, Buffer.concat(chunks)));
};
