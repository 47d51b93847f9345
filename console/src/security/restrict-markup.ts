import { isServiceWorker } from '../offline/keep-console';

interface PolicyFactory {
  createPolicy(name: string, rules: Record<'createHTML' | 'createScriptURL', (text: string) => string | null>): unknown;
}

/**
 * The policy that the page's `trusted-types default` asks for: text becomes markup nowhere but in the waveform, which
 * empties its elements and sets up a shadow root that begins with a style and its nonce; and the address of a script
 * only for the service worker. Anything else throws.
 */
export function restrictMarkup(): void {
  const { trustedTypes } = window as { trustedTypes?: PolicyFactory };
  const nonce = document.querySelector<HTMLElement>('meta[property="csp-nonce"]')?.nonce;
  const isWaveform = (html: string) => Boolean(nonce) && html.trimStart().startsWith(`<style nonce="${nonce}">`);
  trustedTypes?.createPolicy('default', {
    createHTML: (html) => (html === '' || isWaveform(html) ? html : null),
    createScriptURL: (url) => (isServiceWorker(url) ? url : null),
  });
}
