import type { Text } from '../language/texts';
import { audioType } from './audio-type';

/** Why there is no sound to record. */
export interface MicrophoneProblem {
  title: Text;
  hint: Text;
}

const INSECURE: MicrophoneProblem = {
  title: 'This page cannot use the microphone',
  hint: 'Browsers allow recording only over HTTPS or on localhost. You can still upload files.',
};

const UNSUPPORTED: MicrophoneProblem = {
  title: 'This browser cannot record',
  hint: 'Use a current version of Chrome, Edge, Firefox or Safari. You can still upload files.',
};

const DENIED: MicrophoneProblem = {
  title: 'The microphone is blocked for this page',
  hint: 'Allow it in the site settings, next to the address, then record again.',
};

const MISSING: MicrophoneProblem = {
  title: 'No microphone found',
  hint: 'Connect one, or turn it on in your system settings, then record again.',
};

const BUSY: MicrophoneProblem = {
  title: 'The microphone is not available',
  hint: 'Another program may be using it. Close it, or choose another microphone.',
};

const FAILED: MicrophoneProblem = {
  title: 'The recording could not start',
  hint: 'Try again, or choose another microphone.',
};

export const DISCONNECTED: MicrophoneProblem = {
  title: 'The microphone was disconnected',
  hint: 'The audio recorded so far is saved below.',
};

/** What no permission can help, known before the person tries. */
export function standingProblem(): MicrophoneProblem | null {
  if (!window.isSecureContext) return INSECURE;
  return navigator.mediaDevices && audioType() ? null : UNSUPPORTED;
}

/** @param deviceId empty for the system's choice */
export async function openMicrophone(deviceId: string): Promise<MediaStream> {
  const device = deviceId === '' ? {} : { deviceId: { exact: deviceId } };
  const audio = { ...device, channelCount: { ideal: 1 }, autoGainControl: true, noiseSuppression: true };
  return await navigator.mediaDevices.getUserMedia({ audio });
}

export function microphoneProblemOf(error: unknown): MicrophoneProblem {
  const name = error instanceof DOMException ? error.name : '';
  if (name === 'NotAllowedError' || name === 'SecurityError') return DENIED;
  if (name === 'NotFoundError' || name === 'OverconstrainedError') return MISSING;
  if (name === 'NotReadableError' || name === 'AbortError') return BUSY;
  console.error('The recording could not start', error);
  return FAILED;
}

/** Whether the person blocked the microphone before; browsers that do not tell are asked by recording. */
export async function isMicrophoneBlocked(onChange: () => void, signal: AbortSignal): Promise<boolean> {
  try {
    const permission = await navigator.permissions.query({ name: 'microphone' });
    permission.addEventListener('change', onChange, { signal });
    return permission.state === 'denied';
  } catch {
    return false;
  }
}

export const BLOCKED = DENIED;

/** The microphones by name. Their names are empty until the person has allowed one. */
export async function microphones(): Promise<MediaDeviceInfo[]> {
  const devices = (await navigator.mediaDevices?.enumerateDevices().catch(() => [])) ?? [];
  return devices.filter(({ kind, label }) => kind === 'audioinput' && label !== '');
}
