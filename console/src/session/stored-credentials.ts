import type { Session } from 'vnotes';

export interface Credentials {
  key: string;
  secret: string;
}

/** Only there when the person asked to stay signed in. */
const NAME = 'voice-notes.credentials';

/** Who has signed in, and with what role: the cookie itself is for the service alone to read. */
const SESSION = 'voice-notes.session';

export function hasStoredSession(): boolean {
  try {
    return localStorage.getItem(SESSION) !== null;
  } catch {
    return true;
  }
}

/** As it was known last, for when the service cannot be reached. */
export function storedSession(): Session | null {
  try {
    return JSON.parse(localStorage.getItem(SESSION) ?? 'null') as Session | null;
  } catch {
    return null;
  }
}

/** @param session null where only that there is one is known */
export function storeSession(session: Session | null): void {
  try {
    localStorage.setItem(SESSION, JSON.stringify(session));
  } catch {
    // Without storage the service is asked each time.
  }
}

export function storedCredentials(): Credentials | null {
  try {
    const pair = JSON.parse(localStorage.getItem(NAME) ?? 'null') as Partial<Credentials> | null;
    return pair?.key && pair.secret ? { key: pair.key, secret: pair.secret } : null;
  } catch {
    // Storage is switched off, or holds something else.
    return null;
  }
}

export function storeCredentials(pair: Credentials): void {
  try {
    localStorage.setItem(NAME, JSON.stringify(pair));
  } catch {
    // Without storage they are kept for the tab.
  }
}

export function forgetCredentials(): void {
  try {
    localStorage.removeItem(NAME);
    localStorage.removeItem(SESSION);
  } catch {
    // Without storage nothing was kept.
  }
}

/** @param onForgotten another tab removed them */
export function watchStoredCredentials(onForgotten: () => void): void {
  addEventListener('storage', ({ key, oldValue, newValue }) => {
    if ((key === NAME || key === SESSION || key === null) && newValue === null && (key === null || oldValue !== null))
      onForgotten();
  });
}
