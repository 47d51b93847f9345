import { once } from 'node:events';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';

/**
 * A registry of npm that knows some advisories. It answers as registry.npmjs.org: to `POST
 * /-/npm/v1/security/advisories/bulk` with the advisories on what was asked, and to `GET /NAME` with the versions of a package.
 * @param {Record<string, object[]>} advisories by package
 * @param {Record<string, { name: string, version: string, dependencies?: Record<string, string> }>} packages that it has
 */
export async function startAdvisoryRegistry(advisories, packages) {
  /** The versions that were asked for, by package. */
  const asked = {};
  const answer = async (request, response) => {
    const send = (status, body) =>
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
    if (request.method === 'POST' && request.url === '/-/npm/v1/security/advisories/bulk') {
      const body = await buffer(request);
      const versions = JSON.parse(request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body);
      Object.assign(asked, versions);
      return send(200, Object.fromEntries(Object.entries(advisories).filter(([name]) => name in versions)));
    }
    const known = packages[decodeURIComponent(request.url.slice(1))];
    if (request.method !== 'GET' || !known) return send(404, { error: 'Not found' });
    const versions = { [known.version]: { ...known, dist: { tarball: `http://${request.headers.host}/none.tgz` } } };
    return send(200, { name: known.name, 'dist-tags': { latest: known.version }, versions });
  };
  const server = createServer((request, response) => void answer(request, response));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { url: `http://127.0.0.1:${server.address().port}`, asked, stop: () => server.close() };
}
