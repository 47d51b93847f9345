import { useAsync } from '../hooks/use-async';
import { ask } from './ask';

export interface Provider {
  name: string;
  title: string;
  path: string;
}

/** With what people sign in at this service. */
export interface SignInWays {
  ways: readonly string[];
  providers: readonly Provider[];
  /** Whether one can ask for a link by mail. */
  sends_links: boolean;
}

/** Until the service has answered, and of one that says nothing of it. */
const USUAL: SignInWays = { ways: ['password', 'link'], providers: [], sends_links: false };

let asked: Promise<SignInWays> | null = null;

/** Asked once. */
async function find(): Promise<SignInWays> {
  asked ??= ask<Partial<SignInWays>>('GET', 'sign-in-providers').then((found) => ({ ...USUAL, ...found }));
  try {
    return await asked;
  } catch (error) {
    asked = null;
    throw error;
  }
}

export function useSignInWays(): SignInWays {
  return useAsync(find, []).value ?? USUAL;
}
