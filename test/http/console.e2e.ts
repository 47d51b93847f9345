import request, { type Test } from 'supertest';
import { startService, useService } from '../../src/testing/test-service.js';
import { exchange } from '../support/http/clients/raw-http.js';

/** Bytes. A smaller file takes one packet in any case. */
const COMPRESSED_FROM = 1000;
const YEAR = 'public, max-age=31536000, immutable';

/** Needs the built console, as `npm test` leaves it. */
describe('the console at /', () => {
  const service = useService({ ROLES: 'api' });
  const ask = (method: 'get' | 'head' | 'post', path: string): Test => request(service.url)[method](path);
  const pageText = async (): Promise<string> => (await ask('get', '/').expect(200)).text;
  /** Paths of what the page loads. */
  const assets = async (): Promise<string[]> =>
    [...(await pageText()).matchAll(/(?:src|href)="\.(\/assets\/[^"]+)"/g)].map(([, path]) => path as string);

  describe('the page', () => {
    it('has a policy that permits nothing but files of the service, and a nonce of its own each time', async () => {
      const answers = [await ask('get', '/').expect(200), await ask('get', '/').expect(200)];
      const nonces = answers.map(({ headers, text }) => {
        const policy = headers['content-security-policy'] as string;
        const nonce = /'nonce-([A-Za-z0-9+/]{24})'/.exec(policy)?.[1] as string;
        expect(policy.split('; ').toSorted()).toEqual([
          "base-uri 'none'",
          "connect-src 'self'",
          "default-src 'none'",
          "form-action 'none'",
          "frame-ancestors 'none'",
          "img-src 'self'",
          "manifest-src 'self'",
          "media-src 'self' blob:",
          "require-trusted-types-for 'script'",
          "script-src 'self'",
          `style-src 'self' 'nonce-${nonce}'`,
          'trusted-types default',
          "worker-src 'self'",
        ]);
        expect(text).toContain(`<meta property="csp-nonce" nonce="${nonce}">`);
        expect(text).not.toContain('{{');
        // No inline script, no inline style.
        expect(text).not.toMatch(/<style|style=|<script(?![^>]* src=)|\son[a-z]+=/);
        return nonce;
      });
      expect(nonces[0]).not.toBe(nonces[1]);
    });

    it('is asked for again each time, framed by nobody, and may use the microphone only', async () => {
      const { headers } = await ask('get', '/').expect(200);
      expect(headers).toMatchObject({
        'cache-control': 'no-cache',
        'content-type': 'text/html; charset=utf-8',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
      });
      expect(headers['permissions-policy']).toContain('microphone=(self)');
      expect(headers['permissions-policy']).toContain('camera=()');
      expect(headers).not.toHaveProperty('etag');
      expect(headers).not.toHaveProperty('x-ratelimit-limit');
    });

    it('answers HEAD with the same headers and no body', async () => {
      const { headers, text } = await ask('head', '/').expect(200);
      expect(headers['content-length']).toBe(`${Buffer.byteLength(await pageText())}`);
      expect(headers['content-security-policy']).toContain("default-src 'none'");
      expect(text ?? '').toBe('');
    });

    it('is the same for a query, credentials and a conditional request', async () => {
      const withoutNonce = (text: string): string => text.replaceAll(/nonce="[^"]+"/g, '');
      const first = withoutNonce(await pageText());
      const account = await service.account();
      const others = [
        ask('get', '/?key=a&secret=b'),
        ask('get', '/').set(account.headers),
        ask('get', '/').set('If-None-Match', '*'),
        ask('get', '/').set('Host', 'a"><b>'),
      ];
      for (const other of others) expect(withoutNonce((await other.expect(200)).text)).toBe(first);
    });
  });

  describe('its files', () => {
    it('are kept for a year by their hashed names, and compressed as the client accepts', async () => {
      const [large, small] = [[] as string[], [] as string[]];
      for (const path of await assets()) {
        const { headers } = await ask('head', path).set('Accept-Encoding', 'identity').expect(200);
        (Number(headers['content-length']) < COMPRESSED_FROM ? small : large).push(path);
      }
      for (const path of small) {
        const { headers } = await ask('head', path).set('Accept-Encoding', 'gzip, br').expect(200);
        expect(headers).not.toHaveProperty('content-encoding');
        expect(headers).toMatchObject({ 'cache-control': YEAR });
      }
      expect(large.length).toBeGreaterThanOrEqual(2);
      for (const path of large) {
        const encodings: Record<string, string | undefined> = {
          'gzip, deflate, br, zstd': 'br',
          'gzip, br;q=0': 'gzip',
          gzip: 'gzip',
          identity: undefined,
          'br;q=x': undefined,
        };
        const sizes: number[] = [];
        for (const [accepted, encoding] of Object.entries(encodings)) {
          const { headers } = await ask('head', path).set('Accept-Encoding', accepted).expect(200);
          expect([accepted, headers['content-encoding']]).toEqual([accepted, encoding]);
          expect(headers).toMatchObject({ 'cache-control': YEAR, vary: 'Accept-Encoding' });
          expect(headers['x-content-type-options']).toBe('nosniff');
          expect(headers['content-type']).toMatch(/^text\/(javascript|css); charset=utf-8$/);
          sizes.push(Number(headers['content-length']));
        }
        expect(sizes[0]).toBeLessThan(sizes[1] as number);
        expect(sizes[1]).toBeLessThan(sizes[3] as number);
        const inflated = await ask('get', path).set('Accept-Encoding', 'gzip').buffer(true).expect(200);
        expect(Buffer.byteLength(inflated.text ?? inflated.body)).toBe(sizes[3]);
      }
    });

    it('are not sent again to who has them', async () => {
      const [path = ''] = await assets();
      const { etag } = (await ask('head', path).expect(200)).headers as { etag: string };
      for (const tags of [etag, `"other", ${etag}`, etag.replace('W/', ''), '*']) {
        const { text, headers } = await ask('get', path).set('If-None-Match', tags).expect(304);
        expect([text, headers.etag]).toEqual(['', etag]);
      }
      await ask('get', path).set('If-None-Match', '"other"').expect(200);
    });

    it.each([
      ['/manifest.webmanifest', 'application/manifest+json'],
      ['/service-worker.js', 'text/javascript; charset=utf-8'],
      ['/icon-512.png', 'image/png'],
    ])('include %s, which is checked each time', async (path, type) => {
      const { headers } = await ask('get', path).expect(200);
      expect(headers).toMatchObject({ 'content-type': type, 'cache-control': 'no-cache' });
      expect(headers).not.toHaveProperty('service-worker-allowed');
    });

    it('include an icon, which has no hash and is checked each time', async () => {
      const { headers } = await ask('get', '/icon.svg').expect(200);
      expect(headers).toMatchObject({ 'content-type': 'image/svg+xml', 'cache-control': 'no-cache' });
      expect(headers['content-security-policy']).toContain("default-src 'none'");
    });
  });

  it('and everything else that is public give out no credentials, also not to who has some', async () => {
    const account = await service.account();
    const paths = ['/', '/icon.svg', '/docs', '/openapi.json', '/llms.txt', '/health/ready', ...(await assets())];
    for (const path of paths) {
      const link = `${path}?key=${account.credentials.key}&secret=${account.credentials.secret}`;
      for (const answer of [await ask('get', path).set(account.headers), await ask('get', link)]) {
        expect(answer.status).toBe(200);
        const sent = JSON.stringify([answer.headers, answer.text, answer.body]);
        expect(sent).not.toContain(account.credentials.key);
        expect(sent).not.toContain(account.credentials.secret);
        expect(answer.headers).not.toHaveProperty('set-cookie');
      }
    }
  });

  it.each([
    '/nowhere',
    '/index.html',
    '/recordings',
    '/assets',
    '/assets/',
    '/assets/nothing.js',
    '/assets/../index.html',
    '/assets/..%2findex.html',
    '/assets/%2e%2e/index.html',
    '/assets/..%5c..%5cpackage.json',
    '/assets//etc/passwd',
    '/assets/%00',
    '/assets/icon.svg',
    '/ICON.SVG',
    '/icon.svg/',
    '/.sources',
    '/assets/__proto__',
    '/constructor',
    '//icon.svg',
  ])('%s is the JSON 404', async (path) => {
    const raw = await exchange(service.url, `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
    expect([raw.status, raw.body?.error?.code]).toEqual([404, 3001]);
    expect(raw.headers['cache-control']).not.toBe(YEAR);
  });

  it.each(['/', '/icon.svg', '/service-worker.js', '/share-target', '/assets/x.js'])(
    '%s knows no other method',
    async (path) => {
      expect((await ask('post', path).expect(404)).body.error.code).toBe(3001);
    },
  );

  it('is not served by a process without the role api, nor with CONSOLE=off', async () => {
    const [asset = ''] = await assets();
    const worker = await startService(service.environment, { ROLES: 'deliverer' });
    const off = await startService(service.environment, { ROLES: 'api', CONSOLE: 'off' });
    for (const path of ['/', '/icon.svg', asset]) {
      expect((await request(worker.url).get(path).expect(404)).body.error.code).toBe(3001);
    }
    for (const path of ['/icon.svg', asset]) {
      expect((await request(off.url).get(path).expect(404)).body.error.code).toBe(3001);
    }

    const { headers, text } = await request(off.url).get('/').expect(200);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(text).toContain('href="/docs"');
    expect(text).toContain(`<code>${off.url}/v1</code>`);
    expect(text).not.toMatch(/<(script|style)|style=/);
    expect((await request(off.url).head('/').expect(200)).text ?? '').toBe('');
    // A Host header that is no host is not repeated.
    expect((await request(off.url).get('/').set('Host', 'a"><b>').expect(200)).text).toContain('<code>/v1</code>');
  });
});
