interface PolicyFactory {
  createPolicy(name: string, rules: { createHTML: (text: string) => string | null }): unknown;
}

/**
 * The policy that the page's `trusted-types default` asks for: text becomes markup nowhere but in the waveform, which
 * empties its elements and sets up a shadow root that begins with a style and its nonce. Anything else throws.
 */
export function restrictMarkup(): void {
  const { trustedTypes } = window as { trustedTypes?: PolicyFactory };
  const nonce = document.querySelector<HTMLElement>('meta[property="csp-nonce"]')?.nonce;
  const isWaveform = (html: string) => Boolean(nonce) && html.trimStart().startsWith(`<style nonce="${nonce}">`);
  trustedTypes?.createPolicy('default', { createHTML: (html) => (html === '' || isWaveform(html) ? html : null) });
}
