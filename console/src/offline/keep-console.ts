const SCRIPT = 'service-worker.js';

/** What the content security policy lets become the address of a script: that of the service worker. */
export const isServiceWorker = (url: string): boolean => url === SCRIPT;

/**
 * Keeps the console in the browser, so that it opens without a network, records, and sends later. Not where pages have
 * no service workers: without TLS, and in some private windows.
 */
export function keepConsole(): void {
  if (import.meta.env.DEV || !navigator.serviceWorker) return;
  const register = () => void navigator.serviceWorker.register(SCRIPT).catch(() => {});
  // What it fetches must not delay the first page.
  if (document.readyState === 'complete') register();
  else addEventListener('load', register, { once: true });
}
