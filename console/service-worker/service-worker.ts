import { newItem, SHARED } from '../src/uploads/store/upload-item';
import { putItem } from '../src/uploads/store/upload-store';

declare const self: ServiceWorkerGlobalScope;

/** The files of this build, relative to the page, and a hash of their names: put in by plugin.ts. */
declare const FILES: readonly string[];
declare const VERSION: string;

const CACHE = `console-${VERSION}`;
const PAGE = '';
/** A network that is there by name only: then the page is shown as it is kept. */
const PATIENCE_MS = 5000;

self.addEventListener('install', (event) => event.waitUntil(keep()));
self.addEventListener('activate', (event) => event.waitUntil(takeOver()));
self.addEventListener('fetch', (event) => {
  const { method, url } = event.request;
  const path = pathOf(url);
  if (method === 'POST' && path === 'share-target') event.respondWith(takeShared(event.request));
  else if (method !== 'GET') return;
  else if (path === PAGE) event.respondWith(openPage(event.request));
  else if (path !== null && FILES.includes(path)) event.respondWith(openFile(event.request));
});

/** Below the folder of the page; null for what is not. */
function pathOf(url: string): string | null {
  const { scope } = self.registration;
  const [plain = ''] = url.split(/[?#]/);
  return plain.startsWith(scope) ? plain.slice(scope.length) : null;
}

async function keep(): Promise<void> {
  const page = await fetch(self.registration.scope);
  const named = (await page.clone().text()).match(/assets\/[\w.-]+/g) ?? [];
  // Processes of two releases answer while the service is updated: the page would ask for files that are not kept.
  if (!page.ok || named.length === 0 || !named.every((name) => FILES.includes(name))) {
    throw new Error('the page is of another release');
  }
  const cache = await caches.open(CACHE);
  await cache.addAll([...FILES]);
  await cache.put(self.registration.scope, page);
}

/** Other tabs with the release before have gone when this runs. */
async function takeOver(): Promise<void> {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name !== CACHE).map((name) => caches.delete(name)));
  await self.clients.claim();
}

/** As the service has it now; without the service as it was kept, with the nonce of its own policy. */
async function openPage(request: Request): Promise<Response> {
  const kept = await caches.match(self.registration.scope, { cacheName: CACHE });
  try {
    const fresh = await fetch(request, kept ? { signal: AbortSignal.timeout(PATIENCE_MS) } : {});
    return fresh.status >= 500 && kept ? kept : fresh;
  } catch (error) {
    if (kept) return kept;
    throw error;
  }
}

/** Its name holds the hash of its content, or it is small and an old one does no harm. */
async function openFile(request: Request): Promise<Response> {
  return (await caches.match(request, { cacheName: CACHE, ignoreSearch: true })) ?? (await fetch(request));
}

/** Keeps what another app shares; the page sends it when somebody is signed in. */
async function takeShared(request: Request): Promise<Response> {
  try {
    const files = (await request.formData()).getAll('audio').filter((field) => field instanceof File);
    for (const file of files) {
      const { name, type, size } = file;
      const fields = { owner: SHARED, kind: 'file', state: 'queued', tags: {}, language: '' } as const;
      await putItem(newItem({ ...fields, name, type, size }), file);
    }
    return Response.redirect(`${self.registration.scope}#/record`, 303);
  } catch {
    const text = 'The audio could not be kept: the browser may have no space left. Nothing was sent; share it again.';
    return new Response(text, { status: 507, headers: { 'Content-Type': 'text/plain; charset=utf-8' } });
  }
}
