import { randomBytes } from 'node:crypto';
import { FakeOpenAiServer } from './fake-openai-server.js';
import { FakeS3 } from './fake-s3.mjs';

/** Nothing else holds these by accident. */
export const uniqueMarker = (kind: string): string => `${kind}-${randomBytes(9).toString('hex')}`;

/** What a service stands on while it is made to say too much. */
export interface ExternalServices {
  environment: Record<string, string>;
  /** The transcript that the engine returns, if given. */
  text?: string;
  /** Lets the next things go wrong that this external can. */
  failNext(): void;
  close(): Promise<void>;
}

export async function localServices(): Promise<ExternalServices> {
  return { environment: {}, failNext: () => undefined, close: async () => undefined };
}

export async function hostedServices(openaiKey: string): Promise<ExternalServices> {
  const [s3, openai] = [await FakeS3.start(), await FakeOpenAiServer.start()];
  const text = `what nobody else may read ${uniqueMarker('said')}`;
  openai.answer = { json: { task: 'transcribe', language: 'english', duration: 2.8, text, segments: [], words: [] } };
  return {
    environment: {
      STORAGE_DRIVER: 's3',
      S3_ENDPOINT: s3.url,
      S3_BUCKET: s3.bucket,
      TRANSCRIPTION_ENGINE: 'openai',
      OPENAI_BASE_URL: openai.baseUrl,
    },
    text,
    failNext: () => {
      s3.meet('refused', 'broken');
      const echo = `Incorrect API key provided: ${openaiKey}`;
      openai.next({ status: 401, json: { error: { message: echo } } }, { status: 500, text: `${echo}. ${text}` });
    },
    close: async () => {
      await Promise.all([s3.stop(), openai.stop()]);
    },
  };
}
