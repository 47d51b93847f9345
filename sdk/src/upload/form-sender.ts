import type { Answer } from '../http/answer.js';
import { errorOf } from '../http/answer.js';
import { ConnectionError } from '../http/errors.js';
import type { UploadAttempt } from './upload-attempt.js';

/** Sends the form at once with `fetch`, without progress: for service workers, where nothing else is possible. */
export async function sendAsForm(attempt: UploadAttempt): Promise<Answer> {
  const body = await formOf(attempt);
  return await attempt.transport.answer(attempt.request, { body }, attempt.deadline);
}

/** Sends the form with XMLHttpRequest, the only one in browsers that tells how far it is. */
export async function sendByXhr(attempt: UploadAttempt): Promise<Answer> {
  const { transport, request } = attempt;
  try {
    const answer = await answerOfXhr(attempt, await formOf(attempt));
    const { status, headers, text } = answer;
    transport.options.onResponse?.(new Response(text, { status, headers }));
    if (status >= 200 && status < 300) return answer;
    throw errorOf(answer);
  } catch (error) {
    if (request.signal?.aborted) throw request.signal.reason;
    throw error;
  }
}

async function formOf({ fields, file }: UploadAttempt): Promise<FormData> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append('file', await file.blob(), file.name);
  return form;
}

function answerOfXhr({ transport, request, file, deadline, onSent }: UploadAttempt, form: FormData): Promise<Answer> {
  const { signal } = deadline;
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const xhr = new XMLHttpRequest();
    const fail = () => reject(new ConnectionError(`The connection to ${transport.origin} failed.`));
    const abort = () => xhr.abort();
    signal.addEventListener('abort', abort, { once: true });
    xhr.open(request.method, transport.urlOf(request.path));
    transport.headersOf(request.headers).forEach((value, name) => xhr.setRequestHeader(name, value));
    xhr.upload.addEventListener('progress', ({ loaded, total }) => {
      deadline.restart();
      // The rest of the form is sent first.
      const size = file.size ?? total;
      onSent(Math.max(0, Math.min(size, loaded - (total - size))));
    });
    const end = () => resolve({ status: xhr.status, headers: headersOf(xhr), text: xhr.responseText });
    xhr.addEventListener('load', end);
    xhr.addEventListener('error', fail);
    xhr.addEventListener('abort', () => reject(signal.reason as Error));
    xhr.addEventListener('loadend', () => signal.removeEventListener('abort', abort));

    xhr.send(form);
  });
}

function headersOf(xhr: XMLHttpRequest): Headers {
  const headers = new Headers();
  for (const line of xhr.getAllResponseHeaders().split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return headers;
}
