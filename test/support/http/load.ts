import { Agent, request } from 'undici';

/** An answer to one of many requests. */
export interface TimedResponse {
  status: number;
  headers: Record<string, string>;
  body: string;
  /** From the request to the end of the answer. */
  ms: number;
}

interface Target {
  url: string;
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'OPTIONS' | 'HEAD';
  headers?: Record<string, string>;
}

/**
 * Sends many requests over few connections that are kept, as fast as they are answered.
 * @param next gives the next request, or null when there is to be no more; it is told the answers so far.
 */
export async function sendMany(
  next: (index: number, responses: readonly TimedResponse[]) => Target | null | Promise<Target | null>,
  inFlight = 30,
): Promise<TimedResponse[]> {
  const dispatcher = new Agent({ connections: inFlight, pipelining: 1 });
  const responses: TimedResponse[] = [];
  let index = 0;
  const connection = async (): Promise<void> => {
    for (let target = await next(index++, responses); target !== null; target = await next(index++, responses)) {
      const started = performance.now();
      const { url, method = 'GET', headers = {} } = target;
      const answer = await request(url, { method, headers, dispatcher });
      const body = await answer.body.text();
      responses.push({
        status: answer.statusCode,
        headers: answer.headers as Record<string, string>,
        body,
        ms: performance.now() - started,
      });
    }
  };
  try {
    await Promise.all(Array.from({ length: inFlight }, connection));
    return responses;
  } finally {
    await dispatcher.close();
  }
}
