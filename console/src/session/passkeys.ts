import type { Session } from 'vnotes';

import { ask } from './ask';

export interface Passkey {
  id: string;
  name: string;
  created_at: string;
  last_used_at: string | null;
}

interface Options<PublicKey> {
  public_key: PublicKey;
}

/** Whether the browser keeps passkeys for this address: not for one of numbers. */
export function hasPasskeys(): boolean {
  const isNumeric = /^[\d.]+$|^\[/.test(location.hostname);
  return !isNumeric && 'PublicKeyCredential' in window && 'parseRequestOptionsFromJSON' in PublicKeyCredential;
}

/** @returns null when the person has dismissed the question @throws ApiError, ConnectionError */
export async function signInWithPasskey(): Promise<Session | null> {
  const options = await ask<Options<PublicKeyCredentialRequestOptionsJSON>>('POST', 'sessions/passkey-options');
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options.public_key);
  const credential = await answered(() => navigator.credentials.get({ publicKey }));
  return credential && (await ask<Session>('POST', 'sessions/passkey', { credential }));
}

/** @returns as {@link signInWithPasskey} @throws ApiError, ConnectionError, DOMException */
export async function addPasskey(name: string, password: string): Promise<Passkey | null> {
  const proof = password === '' ? {} : { current_password: password };
  const path = 'session/passkeys/options';
  const options = await ask<Options<PublicKeyCredentialCreationOptionsJSON>>('POST', path, proof);
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options.public_key);
  const credential = await answered(() => navigator.credentials.create({ publicKey }));
  return credential && (await ask<Passkey>('POST', 'session/passkeys', { name, credential }));
}

async function answered(question: () => Promise<Credential | null>): Promise<object | null> {
  try {
    const credential = (await question()) as PublicKeyCredential | null;
    return credential && credential.toJSON();
  } catch (error) {
    // Browsers tell nobody whether it was dismissed, took too long, or there is no passkey.
    if (error instanceof DOMException && error.name === 'NotAllowedError') return null;
    throw error;
  }
}
