import { createServer } from 'node:http';

/** One bucket of an S3 server with path-style addresses, as far as an object store needs it. Checks no signatures. */
export class FakeS3 {
  /** @type {Map<string, Buffer>} */
  objects = new Map();
  requests = [];
  /** Keys of objects that may not be removed. */
  locked = new Set();
  /** From now on no request is answered. */
  hangs = false;
  /** Objects that are being sent. */
  sending = 0;
  #late = [];
  #moods = [];
  #moodsOf = new Map();
  #server = createServer((request, response) => void this.#answer(request, response));

  constructor(bucket) {
    this.bucket = bucket;
  }

  static async start(bucket = 'voice-notes') {
    const s3 = new FakeS3(bucket);
    await new Promise((listening) => s3.#server.listen(0, '127.0.0.1', listening));
    return s3;
  }

  get url() {
    return `http://127.0.0.1:${this.#server.address().port}`;
  }

  /** One mood for each of the next requests; after these all is well. */
  meet(...moods) {
    this.#moods.push(...moods);
  }

  /** Stores what came in the mood `late`. */
  arriveLate() {
    for (const store of this.#late.splice(0)) store();
  }

  /** As `meet`, for the next requests with this method. */
  meetOn(method, ...moods) {
    this.#moodsOf.set(method, moods);
  }

  async stop() {
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
  }

  async #answer(request, response) {
    this.requests.push(request);
    const mood = this.#moodsOf.get(request.method ?? '')?.shift() ?? this.#moods.shift() ?? 'well';
    const body = await readAll(request);
    if (mood === 'silent' || this.hangs) return;
    if (mood === 'broken') return refuse(response, 503, 'SlowDown');
    if (mood === 'refused') return refuse(response, 403, 'AccessDenied');
    const [, bucket, ...rest] = new URL(request.url ?? '/', this.url).pathname.split('/');
    if (bucket !== this.bucket) return refuse(response, 404, 'NoSuchBucket');
    const key = rest.join('/');
    if (mood === 'late') {
      this.#late.push(() => this.objects.set(key, body));
      return void request.socket.destroy();
    }
    this.#serve(request, response, key, { body, mood });
  }

  #serve(request, response, key, { body, mood }) {
    switch (request.method) {
      case 'HEAD': {
        const object = this.objects.get(key);
        const isThere = key === '' || object !== undefined;
        response.writeHead(isThere ? 200 : 404, { 'Content-Length': object?.length ?? 0 }).end();
        return;
      }
      case 'PUT':
        if (body.length !== Number(request.headers['content-length'])) return refuse(response, 400, 'IncompleteBody');
        this.objects.set(key, body);
        response.writeHead(200, { ETag: '"1"' }).end();
        return;
      case 'DELETE':
        if (this.locked.has(key)) return refuse(response, 403, 'AccessDenied');
        this.objects.delete(key);
        response.writeHead(204).end();
        return;
      default: {
        if (key === '') return this.#list(request, response);
        const object = this.objects.get(key);
        if (!object) return refuse(response, 404, 'NoSuchKey');
        this.#send(request, response, object, mood);
      }
    }
  }

  #send(request, response, object, mood) {
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
    if (first !== undefined && Number(first) >= object.length) return refuse(response, 416, 'InvalidRange');
    const bytes = first === undefined ? object : object.subarray(Number(first), Number(last) + 1);
    this.sending++;
    response.once('close', () => this.sending--);
    if (mood === 'unmeasured') return void response.writeHead(200).end(bytes.subarray(0, bytes.length / 2));
    if (first === undefined || mood === 'rangeless') response.writeHead(200, { 'Content-Length': object.length });
    else {
      const end = Number(first) + bytes.length - 1;
      const range = `bytes ${first}-${end}/${object.length}`;
      response.writeHead(206, { 'Content-Length': bytes.length, 'Content-Range': range });
    }
    if (mood !== 'cut' && mood !== 'stuck') return void response.end(mood === 'rangeless' ? object : bytes);
    response.write(bytes.subarray(0, bytes.length / 2), () => mood === 'cut' && response.destroy());
  }

  /** Pages of two keys (ListObjectsV2). */
  #list(request, response) {
    const query = new URL(request.url ?? '/', this.url).searchParams;
    const after = query.get('continuation-token') ?? '';
    const keys = [...this.objects.keys()].toSorted().filter((key) => key.startsWith(query.get('prefix') ?? ''));
    const later = keys.filter((key) => key > after);
    const page = later.slice(0, 2);
    const isTruncated = later.length > page.length;
    const token = isTruncated ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : '';
    const contents = page.map((key) => `<Contents><Key>${key}</Key></Contents>`).join('');
    const xml = `<ListBucketResult><IsTruncated>${isTruncated}</IsTruncated>${token}${contents}</ListBucketResult>`;
    response.writeHead(200, { 'Content-Type': 'application/xml' }).end(`<?xml version="1.0"?>${xml}`);
  }
}

function refuse(response, status, code) {
  const xml = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`;
  response.writeHead(status, { 'Content-Type': 'application/xml' }).end(xml);
}

async function readAll(request) {
  const chunks = [];
  try {
    for await (const chunk of request) chunks.push(chunk);
  } catch {
    // The client went away; what arrived is all there is.
  }
  return Buffer.concat(chunks);
}
